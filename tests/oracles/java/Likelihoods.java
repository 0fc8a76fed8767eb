import htsjdk.variant.variantcontext.GenotypeLikelihoods;
import org.broadinstitute.hellbender.utils.MathUtils;
import org.broadinstitute.hellbender.utils.QualityUtils;
import org.broadinstitute.hellbender.utils.variant.GATKVariantContextUtils;

/**
 * Prints results of GATK's functions on likelihoods: hashes of blocks of random points, which the tests of readmill-jmath
 * draw as well. Arguments: the number of blocks, and of points in a block.
 */
public class Likelihoods {
    static long state;
    static long hash;

    /** SplitMix64. */
    static long next() {
        long z = state += 0x9e3779b97f4a7c15L;
        z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
        z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
        return z ^ z >>> 31;
    }

    /** Draws a logarithm from -20 to 0; one of 16 is -infinity. */
    static double logarithm() {
        long draw = next();
        return (draw & 15) == 0 ? Double.NEGATIVE_INFINITY : -(draw >>> 11) * 0x1.0p-53 * 20;
    }

    static void add(double x) {
        add(Double.doubleToLongBits(x));
    }

    static void add(long result) {
        hash = (hash ^ result) * 0x9e3779b97f4a7c15L;
        hash ^= hash >>> 32;
    }

    static void print(String name, long number) {
        System.out.println(name + " " + number + " " + Long.toHexString(hash));
        hash = 0;
    }

    public static void main(String[] arguments) {
        for (int quality = 0; quality < 255; quality++) {
            add(QualityUtils.qualToErrorProb((byte) quality));
            add(QualityUtils.qualToProb((byte) quality));
            add(QualityUtils.qualToProbLog10((byte) quality));
            add(QualityUtils.qualToErrorProbLog10((byte) quality));
        }
        print("qualities", 0);
        int size = Integer.parseInt(arguments[1]);
        for (int number = 0; number < Integer.parseInt(arguments[0]); number++) {
            state = number;
            for (int i = 0; i < size; i++) {
                double a = logarithm(), b = logarithm();
                add(MathUtils.approximateLog10SumLog10(a, b));
            }
            print("approximate", number);
            for (int i = 0; i < size; i++) {
                double a = logarithm(), b = logarithm();
                add(MathUtils.log10SumLog10(a, b));
            }
            print("two", number);
            for (int i = 0; i < size; i++) {
                double[] values = new double[3 + i % 7];
                int finite = i % values.length;
                for (int k = 0; k < values.length; k++) {
                    values[k] = logarithm();
                    if (k == finite && Double.isInfinite(values[k])) {
                        values[k] = -1;
                    }
                }
                add(MathUtils.log10SumLog10(values));
                add(MathUtils.maxElementIndex(values));
                for (double value : MathUtils.normalizeLog10(values.clone())) {
                    add(value);
                }
                int[] pls = GenotypeLikelihoods.fromLog10Likelihoods(values).getAsPLs();
                for (int pl : pls) {
                    add(pl);
                }
                add(GATKVariantContextUtils.calculateGQFromPLs(pls));
                add(GenotypeLikelihoods.getGQLog10FromLikelihoods(finite, values));
                add(MathUtils.fastRound(values[finite] * 3));
            }
            print("arrays", number);
        }
    }
}
