import htsjdk.samtools.SAMFileHeader;
import htsjdk.samtools.SAMSequenceRecord;
import org.broadinstitute.hellbender.utils.SimpleInterval;
import org.broadinstitute.hellbender.utils.activityprofile.ActivityProfileState;
import org.broadinstitute.hellbender.utils.activityprofile.BandPassActivityProfile;

/**
 * Prints hashes of the regions that GATK cuts from random activity, which the tests of readmill-regions draw as well.
 * Arguments: the number of blocks, and of contigs in a block. A second argument of 0 lists the regions of the one contig
 * whose seed is the first.
 */
public class Profiles {
    static final double[] PROBABILITIES = {1.0, 1.0, 0.5, 0.9999, 0.08526, 0.0852, 0.001, 0.1};
    static final double[] MEANS = {6.0, 6.000000000000001, 7.5, 20.0, 99.9, 100.0, 101.0, 300.0};
    static long state;
    static long hash;
    static boolean lists;

    /** SplitMix64. */
    static long next() {
        long z = state += 0x9e3779b97f4a7c15L;
        z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
        z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
        return z ^ z >>> 31;
    }

    static int below(int bound) {
        return (int) Long.remainderUnsigned(next(), bound);
    }

    static void add(long number) {
        hash = (hash ^ number) * 0x9e3779b97f4a7c15L;
        hash ^= hash >>> 32;
    }

    static void pop(BandPassActivityProfile profile, boolean force) {
        profile.popReadyAssemblyRegions(100, 50, 300, force).forEach(region -> {
            add(region.getStart());
            add(region.getEnd());
            add(region.isActive() ? 1 : 0);
            add(region.getPaddedSpan().getStart());
            add(region.getPaddedSpan().getEnd());
            if (lists) {
                System.out.println(region.getStart() + " " + region.getEnd() + " " + region.isActive());
            }
        });
    }

    /** Adds the loci of one contig. */
    static void cut(long seed) {
        state = seed;
        int length = 1 + below(new int[] {30, 400, 2000, 2000}[below(4)]);
        int lociPerActive = new int[] {1, 2, 10, 40, 100, 300}[below(6)];
        boolean isPlateau = below(4) == 0;
        boolean hasGaps = below(3) == 0;
        SAMFileHeader header = new SAMFileHeader();
        header.addSequence(new SAMSequenceRecord("c", length));
        BandPassActivityProfile profile = new BandPassActivityProfile(50, 0.002, 50, 17.0, header);
        for (int locus = 1; locus <= length; locus++) {
            if (hasGaps && below(200) == 0) {
                locus += below(150);
                if (locus > length) {
                    break;
                }
            }
            if (!profile.isEmpty()) {
                pop(profile, locus != profile.getEnd() + 1);
            }
            double probability = 0.0;
            double mean = 0.0;
            if (below(lociPerActive) == 0) {
                probability = isPlateau ? 0.7 : PROBABILITIES[below(8)];
                if (below(8) == 0) {
                    mean = MEANS[below(8)];
                }
            }
            profile.add(new ActivityProfileState(new SimpleInterval("c", locus, locus), probability, mean > 6.0
                    ? ActivityProfileState.Type.HIGH_QUALITY_SOFT_CLIPS : ActivityProfileState.Type.NONE, mean));
        }
        pop(profile, true);
    }

    public static void main(String[] arguments) {
        long blocks = Long.parseLong(arguments[0]);
        int size = Integer.parseInt(arguments[1]);
        if (size == 0) {
            lists = true;
            cut(blocks);
            return;
        }
        for (long block = 0; block < blocks; block++) {
            hash = 0;
            for (long contig = 0; contig < size; contig++) {
                cut(block * size + contig);
            }
            System.out.println("profiles " + block + " " + Long.toHexString(hash));
        }
    }
}
