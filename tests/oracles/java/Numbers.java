import java.util.Locale;
import java.util.PriorityQueue;
import java.util.Random;

/**
 * Prints a hash of each block of results of Java's functions, on points that the tests of readmill-jmath draw as well.
 * With "java Numbers.java SERIES BLOCK SIZE", prints the results of one block; with "java Numbers.java all BLOCKS SIZE",
 * the hashes of that many blocks of each series, or only of series whose names begin with a fourth argument.
 */
public class Numbers {
    static long state;

    /** SplitMix64. */
    static long next() {
        long z = state += 0x9e3779b97f4a7c15L;
        z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
        z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
        return z ^ z >>> 31;
    }

    static double unit() {
        return (next() >>> 11) * 0x1.0p-53;
    }

    /** Returns a number with a random exponent in the range, and a random sign if asked. */
    static double spread(int least, int most, boolean signed) {
        long exponent = least + Long.remainderUnsigned(next(), most - least + 1);
        long bits = next();
        return Double.longBitsToDouble(bits & 0xfffffffffffffL | exponent + 1023 << 52 | (signed ? bits & Long.MIN_VALUE : 0));
    }

    static final String[] SERIES = {
        "log10 integers", "log10 bits", "log10 unit", "log10 near", "log10 exponents",
        "log bits", "log unit", "log near", "log exponents",
        "exp bits", "exp range", "exp small", "exp exponents",
        "pow bits", "pow ten", "pow steps", "pow unit", "pow near", "pow limits", "pow integers", "pow whole",
        "log1p bits", "log1p range", "log1p exponents", "log1p border",
        "strictlog bits", "strictlog unit", "strictlog near",
        "round bits", "round range", "int range",
        "fixed0 range", "fixed2 range", "fixed3 range", "fixed4 ties", "fixed2 ties", "fixed6 bits", "fixed2 wide",
        "scientific bits", "scientific small", "string bits", "string range", "string subnormal", "string integers",
        "random ints", "random gaussians", "queue ties",
    };

    static long bits(double x) {
        return Double.doubleToLongBits(x);
    }

    static double point(String kind, long index) {
        switch (kind) {
            case "bits": return Double.longBitsToDouble(next());
            case "unit": return unit();
            case "near": return 1 + (unit() - 0.5) * 0.25;
            case "exponents": return Double.longBitsToDouble((index % 2048) << 52 | next() >>> 12);
            case "integers": return index + 1;
            case "small": return -unit() * 40;
            case "border": return Double.longBitsToDouble((0xbfd2bec0L + (index & 7)) << 32 | next() >>> 32);
            case "subnormal": return Double.longBitsToDouble(next() >>> 12 + (int) (index % 50));
            case "wide": return spread(-60, 100, true);
            default: return 0;
        }
    }

    static long result(String series, long index) {
        String function = series.split(" ")[0];
        String kind = series.split(" ")[1];
        if (function.equals("pow")) {
            double x, y;
            switch (kind) {
                case "bits": x = Double.longBitsToDouble(next()); y = Double.longBitsToDouble(next()); break;
                case "ten": x = 10; y = -unit() * 40; break;
                case "steps": x = 10; y = -(index % 100000) * 0.0001; break;
                case "unit": x = unit() * 2; y = (unit() - 0.5) * 100; break;
                case "near": x = 1 + (unit() - 0.5) * 0.125; y = spread(0, 60, true); break;
                case "limits": x = spread(-1074 + 52, 1023, false); y = (unit() < 0.5 ? 1070 : -1070) * (0.9 + unit() * 0.2) / Math.getExponent(x); break;
                case "integers": x = (unit() - 0.5) * 40; y = Long.remainderUnsigned(next(), 41) - 20; break;
                default: x = (Long.remainderUnsigned(next(), 9) - 4) * 0.5; y = (Long.remainderUnsigned(next(), 17) - 8) * 0.25;
                    if (index % 7 == 0) { y = y / 0; }
                    if (index % 11 == 0) { x = x / 0; }
            }
            return bits(Math.pow(x, y));
        }
        double x;
        switch (function + " " + kind) {
            case "exp range": x = (unit() - 0.5) * 1500; break;
            case "log1p range": x = unit() * 4 - 1; break;
            case "round range": case "int range": x = spread(-3, 66, true); if (index % 3 == 0) { x = Math.rint(x) + 0.5; } break;
            case "fixed0 range": case "fixed2 range": case "fixed3 range": case "string range": x = (unit() - 0.3) * 3000; break;
            case "fixed4 ties": x = (next() >>> 40) / 100000.0; break;
            case "fixed2 ties": x = (next() >>> 40) / 1000.0; break;
            case "scientific small": x = unit() * 0.01; break;
            case "string integers": x = next() >>> (int) (index % 60); break;
            default: x = point(kind, index);
        }
        switch (function) {
            case "log10": return bits(Math.log10(x));
            case "log": return bits(Math.log(x));
            case "exp": return bits(Math.exp(x));
            case "log1p": return bits(Math.log1p(x));
            case "strictlog": return bits(StrictMath.log(x));
            case "round": return Math.round(x);
            case "int": return (int) x;
            case "string": return hash(Double.toString(x));
            case "scientific": return hash(String.format(Locale.ROOT, "%.3e", x));
            default: return hash(String.format(Locale.ROOT, "%." + function.substring(5) + "f", x));
        }
    }

    static long hash(String text) {
        long hash = 0;
        for (int i = 0; i < text.length(); i++) {
            hash = (hash ^ text.charAt(i)) * 0x100000001b3L;
        }
        return hash;
    }

    /** Returns the results of a block. */
    static long[] block(String series, int number, int size) {
        long seed = hash(series) + number;
        state = seed;
        long[] results = new long[size];
        if (series.startsWith("random")) {
            Random random = new Random(seed);
            for (int i = 0; i < size; i++) {
                int bound = (int) (next() >>> 34 + i % 29) + 1;
                results[i] = series.endsWith("ints") ? random.nextInt(bound) : bits(random.nextGaussian());
            }
        } else if (series.startsWith("queue")) {
            PriorityQueue<long[]> queue = new PriorityQueue<>((a, b) -> Long.compare(a[0], b[0]));
            for (int i = 0; i < size; i++) {
                long draw = next();
                if ((draw & 3) == 0 && !queue.isEmpty()) {
                    results[i] = queue.poll()[1];
                } else {
                    queue.add(new long[] {draw >>> 60, i});
                }
            }
        } else {
            for (int i = 0; i < size; i++) {
                results[i] = result(series, (long) number * size + i);
            }
        }
        return results;
    }

    public static void main(String[] arguments) {
        int size = Integer.parseInt(arguments[2]);
        if (!arguments[0].equals("all")) {
            for (long result : block(arguments[0], Integer.parseInt(arguments[1]), size)) {
                System.out.println(Long.toHexString(result));
            }
            return;
        }
        String start = arguments.length > 3 ? arguments[3] : "";
        for (String series : SERIES) {
            if (!series.startsWith(start)) {
                continue;
            }
            for (int number = 0; number < Integer.parseInt(arguments[1]); number++) {
                long hash = 0;
                for (long result : block(series, number, size)) {
                    hash = (hash ^ result) * 0x9e3779b97f4a7c15L;
                    hash ^= hash >>> 32;
                }
                System.out.println(series + " " + number + " " + Long.toHexString(hash));
            }
        }
    }
}
