import com.intel.gkl.pairhmm.IntelPairHmm;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.broadinstitute.gatk.nativebindings.pairhmm.HaplotypeDataHolder;
import org.broadinstitute.gatk.nativebindings.pairhmm.PairHMMNativeArguments;
import org.broadinstitute.gatk.nativebindings.pairhmm.ReadDataHolder;
import sun.misc.Unsafe;

/**
 * Prints likelihoods of GKL's pair HMM for random regions. Arguments: the first region, -4 to begin with edge cases, the number of
 * regions, and optionally "time", to print the nanoseconds of processor time of each kernel instead. It needs a processor with
 * AVX-512.
 *
 * <p>Lines: "region N", "h BASES" for each haplotype, "r BASES QUALITIES INSERTIONS DELETIONS CONTINUATIONS" for each read, with
 * qualities in hexadecimal, and "l KERNEL" with the bits of the likelihoods of each read in turn.
 */
public class PairHmm {
    static long state;

    /** SplitMix64. */
    static long next() {
        long z = state += 0x9e3779b97f4a7c15L;
        z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
        z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
        return z ^ z >>> 31;
    }

    static int below(int bound) {
        return (int) ((next() >>> 33) % bound);
    }

    static byte base() {
        return (byte) "ACGT".charAt(below(4));
    }

    static byte[] bases(int length) {
        byte[] bases = new byte[length];
        int unit = 0;
        for (int i = 0; i < length; i++) {
            if (unit == 0 && below(40) == 0) {
                unit = 1 + below(4);
            } else if (unit > 0 && below(16) == 0) {
                unit = 0;
            }
            bases[i] = unit > 0 && i >= unit ? bases[i - unit] : base();
        }
        return bases;
    }

    /** Returns a copy with random substitutions, insertions and deletions; one of `rate` bases is changed. */
    static byte[] mutate(byte[] bases, int rate) {
        byte[] changed = new byte[3 * bases.length + 8];
        int length = 0;
        for (int i = 0; i < bases.length; i++) {
            int draw = below(rate);
            if (draw > 0) {
                changed[length++] = bases[i];
                continue;
            }
            switch (below(8)) {
                case 0 -> {
                    int inserted = 1 + below(8);
                    for (int k = 0; k < inserted && length < changed.length - 2; k++) {
                        changed[length++] = base();
                    }
                    changed[length++] = bases[i];
                }
                case 1 -> i += below(8);
                case 2 -> changed[length++] = (byte) (below(4) == 0 ? 'N' : base());
                default -> changed[length++] = base();
            }
        }
        return length == 0 ? new byte[] {'A'} : Arrays.copyOf(changed, length);
    }

    static HaplotypeDataHolder[] haplotypes() {
        int size = switch (below(8)) {
            case 0 -> 1 + below(12);
            case 1 -> 300 + below(300);
            default -> 40 + below(200);
        };
        byte[] reference = bases(size);
        HaplotypeDataHolder[] haplotypes = new HaplotypeDataHolder[1 + below(6)];
        for (int i = 0; i < haplotypes.length; i++) {
            haplotypes[i] = new HaplotypeDataHolder();
            haplotypes[i].haplotypeBases = i == 0 ? reference : mutate(reference, 50);
        }
        return haplotypes;
    }

    static byte[] qualities(int length, int kind) {
        byte[] qualities = new byte[length];
        int fixed = below(128);
        for (int i = 0; i < length; i++) {
            qualities[i] = (byte) switch (kind) {
                case 0 -> 6 + below(35);
                case 1 -> fixed;
                case 2 -> below(128);
                case 3 -> 45;
                default -> 10;
            };
        }
        return qualities;
    }

    static ReadDataHolder read(HaplotypeDataHolder[] haplotypes) {
        byte[] haplotype = haplotypes[below(haplotypes.length)].haplotypeBases;
        int length = 1 + below(Math.min(250, haplotype.length));
        int start = below(haplotype.length - length + 1);
        byte[] bases = Arrays.copyOfRange(haplotype, start, start + length);
        ReadDataHolder read = new ReadDataHolder();
        read.readBases = switch (below(16)) {
            case 0 -> bases(1 + below(300));
            case 1, 2 -> mutate(bases, 4);
            default -> mutate(bases, 30);
        };
        length = read.readBases.length;
        boolean odd = below(8) == 0;
        read.readQuals = qualities(length, odd ? below(3) : 0);
        read.insertionGOP = qualities(length, odd ? below(4) : 3);
        read.deletionGOP = below(3) == 0 ? qualities(length, odd ? below(4) : 3) : read.insertionGOP.clone();
        read.overallGCP = qualities(length, odd ? below(5) : 4);
        return read;
    }

    /**
     * Edge cases: haplotypes, and reads with the qualities of all their bases, insertions, deletions and gap continuations. Case i
     * is region -1 - i.
     */
    static final String[][][] EDGES = {
        // Reads longer than a haplotype, and of one base.
        {{"ACGTA", "A"}, {"ACGTACGTTTGACCATGCAACGTGATCCA", "30", "45", "45", "10"}, {"C", "30", "45", "45", "10"}},
        // Probabilities too small for float, and for double.
        {{"A".repeat(300), "A".repeat(299) + "C"},
            {"C".repeat(10), "40", "45", "45", "10"}, {"C".repeat(30), "40", "45", "45", "10"},
            {"C".repeat(100), "40", "45", "45", "10"}, {"C".repeat(250), "93", "90", "90", "90"},
            {"C".repeat(250), "127", "127", "127", "127"}, {"A".repeat(250), "60", "45", "45", "10"}},
        // Bases N, lower-case bases and others.
        {{"ACGTNNACGTTGCA", "acgtacgtTGCARY", "NNNN"},
            {"ACGTACACG", "30", "45", "45", "10"}, {"NNNNN", "30", "45", "45", "10"}, {"acgtacN", "30", "45", "45", "10"},
            {"RYKM", "30", "45", "45", "10"}},
        // Qualities of 0, 1 and more than 60.
        {{"GATTACAGATTACA", "GATTACACATTACA"},
            {"TACAGATT", "0", "0", "0", "0"}, {"TACAGATT", "1", "1", "1", "1"}, {"TACAGATT", "61", "45", "45", "10"},
            {"TACAGATT", "93", "93", "93", "93"}, {"TACAGATT", "127", "127", "127", "127"}, {"TACAGATT", "30", "0", "127", "10"}},
    };

    static HaplotypeDataHolder[] haplotypes(String[] bases) {
        HaplotypeDataHolder[] haplotypes = new HaplotypeDataHolder[bases.length];
        for (int i = 0; i < bases.length; i++) {
            haplotypes[i] = new HaplotypeDataHolder();
            haplotypes[i].haplotypeBases = bases[i].getBytes(StandardCharsets.US_ASCII);
        }
        return haplotypes;
    }

    static byte[] repeat(String quality, int length) {
        byte[] qualities = new byte[length];
        Arrays.fill(qualities, Byte.parseByte(quality));
        return qualities;
    }

    static ReadDataHolder read(String[] words) {
        ReadDataHolder read = new ReadDataHolder();
        read.readBases = words[0].getBytes(StandardCharsets.US_ASCII);
        int length = read.readBases.length;
        read.readQuals = repeat(words[1], length);
        read.insertionGOP = repeat(words[2], length);
        read.deletionGOP = repeat(words[3], length);
        read.overallGCP = repeat(words[4], length);
        return read;
    }

    static String hex(byte[] bytes) {
        char[] digits = new char[2 * bytes.length];
        for (int i = 0; i < bytes.length; i++) {
            digits[2 * i] = "0123456789abcdef".charAt(bytes[i] >> 4);
            digits[2 * i + 1] = "0123456789abcdef".charAt(bytes[i] & 15);
        }
        return new String(digits);
    }

    static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.US_ASCII);
    }

    static void print(PrintWriter out, HaplotypeDataHolder[] haplotypes, ReadDataHolder[] reads) {
        for (HaplotypeDataHolder haplotype : haplotypes) {
            out.println("h " + text(haplotype.haplotypeBases));
        }
        for (ReadDataHolder read : reads) {
            out.println("r " + text(read.readBases) + " " + hex(read.readQuals) + " " + hex(read.insertionGOP) + " "
                    + hex(read.deletionGOP) + " " + hex(read.overallGCP));
        }
    }

    static Unsafe memory;
    static long start;
    static Map<String, Long> symbols;

    /** Finds the variables of the library that is loaded, by which it chooses a kernel. */
    static void findVariables() throws ReflectiveOperationException, IOException {
        Field field = Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        memory = (Unsafe) field.get(null);
        String line = Files.lines(Path.of("/proc/self/maps")).filter(it -> it.contains("libgkl_pairhmm")).findFirst().get();
        start = Long.parseLong(line.substring(0, line.indexOf('-')), 16);
        symbols = symbols(Path.of(line.substring(line.indexOf('/')).replace(" (deleted)", "")));
    }

    /** Makes the library use a kernel, whatever it chose for the processor. */
    static void useKernel(String kernel) {
        String flavour = kernel.startsWith("avx512") ? "avx512" : "avx";
        for (String type : new String[] {"float", "double"}) {
            long function = memory.getLong(start + symbols.get("compute_fp_" + flavour + (type.equals("float") ? "s" : "d")));
            memory.putLong(start + symbols.get("g_compute_full_prob_" + type), function);
        }
        memory.putByte(start + symbols.get("g_use_double"), (byte) (kernel.endsWith("double") ? 1 : 0));
    }

    /** Returns the addresses of the dynamic symbols of a 64-bit ELF file. */
    static Map<String, Long> symbols(Path library) throws IOException {
        ByteBuffer file = ByteBuffer.wrap(Files.readAllBytes(library)).order(ByteOrder.LITTLE_ENDIAN);
        Map<String, Long> symbols = new HashMap<>();
        int sections = (int) file.getLong(0x28), size = file.getShort(0x3a), count = file.getShort(0x3c);
        for (int section = sections; section < sections + size * count; section += size) {
            if (file.getInt(section + 4) != 11) {
                continue;
            }
            int names = (int) file.getLong(sections + size * file.getInt(section + 0x28) + 0x18);
            int first = (int) file.getLong(section + 0x18), end = first + (int) file.getLong(section + 0x20);
            for (int symbol = first; symbol < end; symbol += 24) {
                int name = names + file.getInt(symbol), length = 0;
                while (file.get(name + length) != 0) {
                    length++;
                }
                byte[] bytes = new byte[length];
                file.get(name, bytes);
                symbols.put(text(bytes), file.getLong(symbol + 8));
            }
        }
        return symbols;
    }

    public static void main(String[] arguments) throws Exception {
        IntelPairHmm hmm = new IntelPairHmm();
        if (!hmm.load(null)) {
            throw new IllegalStateException("GKL's library cannot be loaded");
        }
        PairHMMNativeArguments options = new PairHMMNativeArguments();
        options.maxNumberOfThreads = 1;
        options.useDoublePrecision = false;
        hmm.initialize(options);
        findVariables();
        String[] kernels = {"avx512", "avx", "avx512-double", "avx-double"};
        int first = Integer.parseInt(arguments[0]), end = first + Integer.parseInt(arguments[1]);
        boolean times = arguments.length > 2;
        ThreadMXBean processor = ManagementFactory.getThreadMXBean();
        long[] nanoseconds = new long[kernels.length];
        PrintWriter out = new PrintWriter(new BufferedWriter(new OutputStreamWriter(System.out)));
        for (int region = first; region < end; region++) {
            state = region * 1_000_003L;
            String[][] edge = region < 0 ? EDGES[-1 - region] : null;
            HaplotypeDataHolder[] haplotypes = edge == null ? haplotypes() : haplotypes(edge[0]);
            int count = edge == null ? 1 + below(below(4) == 0 ? 80 : 12) : edge.length - 1;
            ReadDataHolder[] reads = new ReadDataHolder[count];
            for (int i = 0; i < reads.length; i++) {
                reads[i] = edge == null ? read(haplotypes) : read(edge[i + 1]);
            }
            if (!times) {
                out.println("region " + region);
                print(out, haplotypes, reads);
            }
            for (int kernel = 0; kernel < kernels.length; kernel++) {
                useKernel(kernels[kernel]);
                double[] likelihoods = new double[reads.length * haplotypes.length];
                long before = processor.getCurrentThreadCpuTime();
                hmm.computeLikelihoods(reads, haplotypes, likelihoods);
                nanoseconds[kernel] += processor.getCurrentThreadCpuTime() - before;
                if (!times) {
                    StringBuilder line = new StringBuilder("l " + kernels[kernel]);
                    for (double likelihood : likelihoods) {
                        line.append(' ').append(Long.toHexString(Double.doubleToRawLongBits(likelihood)));
                    }
                    out.println(line);
                }
            }
        }
        for (int kernel = 0; times && kernel < kernels.length; kernel++) {
            out.println(kernels[kernel] + " " + nanoseconds[kernel]);
        }
        out.flush();
    }
}
