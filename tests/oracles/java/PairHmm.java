import com.intel.gkl.pairhmm.IntelPairHmm;
import htsjdk.samtools.SAMFileHeader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.broadinstitute.gatk.nativebindings.pairhmm.HaplotypeDataHolder;
import org.broadinstitute.gatk.nativebindings.pairhmm.PairHMMNativeArguments;
import org.broadinstitute.gatk.nativebindings.pairhmm.ReadDataHolder;
import sun.misc.Unsafe;

/**
 * Prints likelihoods of GKL's pair HMM for random regions. Arguments: the flavour (avx512 or avx), the precision (mixed or
 * double), the first region, the number of regions, and optionally "time" to print nanoseconds.
 *
 * <p>Lines: "region N", "h BASES" for each haplotype, "r BASES QUALITIES INSERTIONS DELETIONS CONTINUATIONS" for each read, with
 * qualities in hexadecimal, and "l" with the bits of the likelihoods of each read in turn.
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

    static void print(PrintWriter out, HaplotypeDataHolder[] haplotypes, ReadDataHolder[] reads, double[] likelihoods) {
        for (HaplotypeDataHolder haplotype : haplotypes) {
            out.println("h " + text(haplotype.haplotypeBases));
        }
        for (ReadDataHolder read : reads) {
            out.println("r " + text(read.readBases) + " " + hex(read.readQuals) + " " + hex(read.insertionGOP) + " "
                    + hex(read.deletionGOP) + " " + hex(read.overallGCP));
        }
        StringBuilder line = new StringBuilder("l");
        for (double likelihood : likelihoods) {
            line.append(' ').append(Long.toHexString(Double.doubleToRawLongBits(likelihood)));
        }
        out.println(line);
    }

    /** Makes the library that is loaded use the kernels for processors without AVX-512. */
    static void useAvx() throws ReflectiveOperationException, IOException {
        Field field = Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        Unsafe memory = (Unsafe) field.get(null);
        String line = Files.lines(Path.of("/proc/self/maps")).filter(it -> it.contains("libgkl_pairhmm")).findFirst().get();
        long start = Long.parseLong(line.substring(0, line.indexOf('-')), 16);
        Map<String, Long> symbols = symbols(Path.of(line.substring(line.indexOf('/')).replace(" (deleted)", "")));
        for (String[] names : new String[][] {
            {"g_compute_full_prob_float", "compute_fp_avxs"}, {"g_compute_full_prob_double", "compute_fp_avxd"}
        }) {
            memory.putLong(start + symbols.get(names[0]), memory.getLong(start + symbols.get(names[1])));
        }
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
        options.useDoublePrecision = arguments[1].equals("double");
        hmm.initialize(options);
        if (arguments[0].equals("avx")) {
            useAvx();
        }
        int first = Integer.parseInt(arguments[2]), end = first + Integer.parseInt(arguments[3]);
        boolean times = arguments.length > 4;
        PrintWriter out = new PrintWriter(new BufferedWriter(new OutputStreamWriter(System.out)));
        for (int region = first; region < end; region++) {
            state = region * 1_000_003L;
            HaplotypeDataHolder[] haplotypes = haplotypes();
            ReadDataHolder[] reads = new ReadDataHolder[1 + below(below(4) == 0 ? 80 : 12)];
            for (int i = 0; i < reads.length; i++) {
                reads[i] = read(haplotypes);
            }
            double[] likelihoods = new double[reads.length * haplotypes.length];
            hmm.computeLikelihoods(reads, haplotypes, likelihoods);
            out.println("region " + region);
            print(out, haplotypes, reads, likelihoods);
        }
        out.flush();
    }
}
