import htsjdk.samtools.Cigar;
import htsjdk.samtools.SAMFileHeader;
import htsjdk.samtools.TextCigarCodec;
import java.io.BufferedWriter;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.broadinstitute.gatk.nativebindings.pairhmm.PairHMMNativeArguments;
import org.broadinstitute.hellbender.tools.walkers.haplotypecaller.AssemblyBasedCallerUtils;
import org.broadinstitute.hellbender.tools.walkers.haplotypecaller.PairHMMLikelihoodCalculationEngine;
import org.broadinstitute.hellbender.tools.walkers.haplotypecaller.PairHMMLikelihoodCalculationEngine.PCRErrorModel;
import org.broadinstitute.hellbender.utils.genotyper.AlleleLikelihoods;
import org.broadinstitute.hellbender.utils.genotyper.IndexedSampleList;
import org.broadinstitute.hellbender.utils.haplotype.Haplotype;
import org.broadinstitute.hellbender.utils.pairhmm.PairHMM;
import org.broadinstitute.hellbender.utils.read.ArtificialReadUtils;
import org.broadinstitute.hellbender.utils.read.GATKRead;
import org.broadinstitute.hellbender.utils.read.ReadUtils;

/**
 * Prints what GATK's PairHMMLikelihoodCalculationEngine, with HaplotypeCaller's defaults, returns for random regions. Arguments:
 * the first region, -4 to begin with edge cases, and the number of regions.
 *
 * <p>Lines: "region N MODEL", "h BASES REFERENCE CIGAR_ELEMENTS" for each haplotype, "r BASES QUALITIES INSERTIONS DELETIONS MAPQ"
 * for each read and "q QUALITIES INSERTIONS DELETIONS" for its prepared qualities, "k" with the indices of reads that are kept,
 * "l" with the bits of their likelihoods, read by read, and "a" and "p" with their best haplotype, whether they are informative,
 * and the bits of their confidence, for alignment and for the default priorities.
 */
public class ReadLikelihoods {
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

    /** Draws bases with many tandem repeats. */
    static byte[] bases(int length) {
        byte[] bases = new byte[length];
        int unit = 0;
        for (int i = 0; i < length; i++) {
            if (unit == 0 && below(20) == 0) {
                unit = 1 + below(10);
            } else if (unit > 0 && below(20) == 0) {
                unit = 0;
            }
            bases[i] = unit > 0 && i >= unit ? bases[i - unit] : base();
        }
        return bases;
    }

    /** Returns a copy with a few substitutions and one insertion or deletion. */
    static byte[] mutate(byte[] bases, int substitutions) {
        byte[] changed = bases.clone();
        for (int i = 0; i < substitutions; i++) {
            changed[below(changed.length)] = below(20) == 0 ? (byte) 'N' : base();
        }
        int at = below(bases.length), length = below(6);
        if (below(3) == 0) {
            byte[] inserted = Arrays.copyOf(changed, changed.length + length);
            System.arraycopy(changed, at, inserted, at + length, changed.length - at);
            for (int i = at; i < at + length; i++) {
                inserted[i] = base();
            }
            return inserted;
        }
        if (below(2) == 0 && at + length < changed.length) {
            byte[] deleted = Arrays.copyOf(changed, changed.length - length);
            System.arraycopy(changed, at + length, deleted, at, changed.length - at - length);
            return deleted;
        }
        return changed;
    }

    static byte[] qualities(int length, int bound) {
        byte[] qualities = new byte[length];
        for (int i = 0; i < length; i++) {
            qualities[i] = (byte) (2 + below(bound));
        }
        return qualities;
    }

    static String hex(byte[] bytes) {
        if (bytes == null) {
            return "-";
        }
        StringBuilder text = new StringBuilder();
        for (byte one : bytes) {
            text.append(String.format("%02x", one));
        }
        return text.toString();
    }

    static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.US_ASCII);
    }

    static final SAMFileHeader HEADER = ArtificialReadUtils.createArtificialSamHeader(1, 1, 100000);

    static GATKRead read(List<Haplotype> haplotypes, int number) {
        byte[] haplotype = haplotypes.get(below(haplotypes.size())).getBases();
        int length = Math.min(10 + below(150), haplotype.length), start = below(haplotype.length - length + 1);
        byte[] bases = Arrays.copyOfRange(haplotype, start, start + length);
        bases = switch (below(12)) {
            case 0 -> bases(10 + below(200));
            case 1, 2, 3 -> mutate(bases, below(1 + bases.length / 6));
            default -> mutate(bases, below(2));
        };
        byte[] qualities = qualities(bases.length, below(6) == 0 ? 92 : 40);
        GATKRead read = ArtificialReadUtils.createArtificialRead(HEADER, "r" + number, 0, 1000, bases, qualities, bases.length + "M");
        read.setMappingQuality(below(3) == 0 ? 60 : 20 + below(41));
        if (below(8) == 0) {
            ReadUtils.setInsertionBaseQualities(read, qualities(bases.length, 60));
            if (below(2) == 0) {
                ReadUtils.setDeletionBaseQualities(read, qualities(bases.length, 60));
            }
        }
        return read;
    }

    static List<Haplotype> haplotypes() {
        byte[] reference = bases(30 + below(250));
        int count = 1 + below(6), position = below(count);
        List<Haplotype> haplotypes = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            byte[] bases = i == position ? reference : mutate(reference, below(3));
            Haplotype haplotype = new Haplotype(bases, i == position);
            haplotype.setCigar(cigar(bases.length, i == position ? 0 : below(3)));
            if (!haplotypes.contains(haplotype)) {
                haplotypes.add(haplotype);
            }
        }
        return haplotypes;
    }

    /**
     * Edge cases: haplotypes, the first of which is the reference, with numbers of deletions, and reads with the quality of all bases
     * and the mapping quality. Case i is region -1 - i.
     */
    static final String[][][] EDGES = {
        // Qualities at the border of 18, below and above the mapping quality, above 60; mapping quality 0 and 255.
        {{"GATTACAGATTACAGATTACCA", "0"},
            {"TACAGATTACAG", "17", "60"}, {"TACAGATTACAG", "18", "60"}, {"TACAGATTACAG", "18", "17"}, {"TACAGATTACAG", "60", "20"},
            {"TACAGATTACAG", "93", "255"}, {"TACAGATTACAG", "30", "0"}, {"T", "30", "60"}},
        // Repeats of 1 to 9 bases, more than 20 of them, and a shorter unit before a longer one.
        {{"A".repeat(80), "0"},
            {"A".repeat(60), "30", "60"}, {"CA".repeat(30), "30", "60"}, {"TTCTTCCCC", "30", "60"}, {"ACGTTGCA".repeat(5), "30", "60"},
            {"ACGTTGCAT".repeat(5), "30", "60"}, {"N".repeat(12), "30", "60"}, {"AACAACAAGAACAAC", "30", "60"}},
        // Haplotypes that explain a read equally, or nearly: the reference, fewer CIGAR elements, or the first is chosen.
        {{"GATTACAGATTACAGGTTACCA", "0", "GATTACAGATTACAGGTTACCT", "0", "CATTACAGATTACAGGTTACCA", "2", "GATTACACATTACAGGTTACCA", "0"},
            {"TACAGATTACAG", "30", "60"}, {"TACACATTACAG", "30", "60"}, {"CATTACAGATTA", "30", "60"}, {"GGTTACCT", "30", "60"},
            {"TACATATTACAG", "30", "60"}},
        // Reads that fit no haplotype, with 1 or 2 errors allowed; and whose probability is 0.
        {{"GATTACAGATTACAGGTTACCAGATTACAGATTACAGGTTACCAGATTACAGATTACAGGTTACCA", "0",
            "GATTACAGATTACAGGTTACCAGATTACAGATTTCAGGTTACCAGATTACAGATTACAGGTTACCA", "0"},
            {"TACAGATTACAGGTTACCAG", "40", "60"}, {"TACACATTACAGGTTACCAG", "40", "60"}, {"TACACATTAGAGGTTACCAG", "40", "60"},
            {"TACACATTAGAGGTAACCAGATTACAGATTACAGGTTACCAGATTACAGATT", "40", "60"},
            {"TACACATTAGAGGTAACGAGATTACAGATTACAGGTTACCAGATTACAGATT", "40", "60"}, {"C".repeat(300), "93", "255"}},
    };

    static List<Haplotype> haplotypes(String[] words) {
        List<Haplotype> haplotypes = new ArrayList<>();
        for (int i = 0; i < words.length; i += 2) {
            Haplotype haplotype = new Haplotype(words[i].getBytes(StandardCharsets.US_ASCII), i == 0);
            haplotype.setCigar(cigar(words[i].length(), Integer.parseInt(words[i + 1])));
            haplotypes.add(haplotype);
        }
        return haplotypes;
    }

    static GATKRead read(String[] words, int number) {
        byte[] bases = words[0].getBytes(StandardCharsets.US_ASCII), qualities = new byte[bases.length];
        Arrays.fill(qualities, Byte.parseByte(words[1]));
        GATKRead read = ArtificialReadUtils.createArtificialRead(HEADER, "r" + number, 0, 1000, bases, qualities, bases.length + "M");
        read.setMappingQuality(Integer.parseInt(words[2]));
        return read;
    }

    /** Returns a CIGAR for a number of bases, with this number of deletions. */
    static Cigar cigar(int bases, int deletions) {
        return TextCigarCodec.decode(bases - deletions + "M" + "1D1M".repeat(deletions));
    }

    static void printBest(
            PrintWriter out, String name, AlleleLikelihoods<GATKRead, Haplotype> likelihoods, Function<Haplotype, Double> priority) {
        StringBuilder line = new StringBuilder(name);
        for (var best : likelihoods.bestAllelesBreakingTies(priority)) {
            line.append(' ').append(likelihoods.indexOfAllele(best.allele)).append(best.isInformative() ? "+" : "-");
            line.append(Long.toHexString(Double.doubleToRawLongBits(best.confidence)));
        }
        out.println(line);
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] arguments) throws Exception {
        PairHMMNativeArguments options = new PairHMMNativeArguments();
        options.maxNumberOfThreads = 1;
        PCRErrorModel[] models = PCRErrorModel.values();
        PairHMMLikelihoodCalculationEngine[] engines = new PairHMMLikelihoodCalculationEngine[models.length];
        for (int i = 0; i < models.length; i++) {
            engines[i] = new PairHMMLikelihoodCalculationEngine((byte) 10, null, options, PairHMM.Implementation.AVX_LOGLESS_CACHING,
                    null, -4.5, models[i], PairHMM.BASE_QUALITY_SCORE_THRESHOLD, false, 1, 0.02, true, false, true);
        }
        Method prepare = PairHMMLikelihoodCalculationEngine.class.getDeclaredMethod("modifyReadQualities", List.class);
        prepare.setAccessible(true);
        int first = Integer.parseInt(arguments[0]), end = first + Integer.parseInt(arguments[1]);
        PrintWriter out = new PrintWriter(new BufferedWriter(new OutputStreamWriter(System.out)));
        for (int region = first; region < end; region++) {
            state = region * 1_000_003L;
            int model = region >= 0 && below(3) == 0 ? below(models.length) : PCRErrorModel.CONSERVATIVE.ordinal();
            out.println("region " + region + " " + models[model]);
            String[][] edge = region < 0 ? EDGES[-1 - region] : null;
            List<Haplotype> haplotypes = edge == null ? haplotypes() : haplotypes(edge[0]);
            for (Haplotype haplotype : haplotypes) {
                out.println("h " + text(haplotype.getBases()) + " " + haplotype.isReference() + " " + haplotype.getCigar().numCigarElements());
            }
            List<GATKRead> reads = new ArrayList<>();
            int count = edge == null ? 1 + below(below(4) == 0 ? 60 : 10) : edge.length - 1;
            for (int i = 0; i < count; i++) {
                reads.add(edge == null ? read(haplotypes, i) : read(edge[i + 1], i));
            }
            List<GATKRead> prepared = (List<GATKRead>) prepare.invoke(engines[model], reads);
            for (int i = 0; i < count; i++) {
                GATKRead read = reads.get(i), changed = prepared.get(i);
                out.println("r " + text(read.getBases()) + " " + hex(read.getBaseQualities()) + " "
                        + hex(ReadUtils.getExistingBaseInsertionQualities(read)) + " "
                        + hex(ReadUtils.getExistingBaseDeletionQualities(read)) + " " + read.getMappingQuality());
                out.println("q " + hex(changed.getBaseQualities()) + " " + hex(ReadUtils.getBaseInsertionQualities(changed)) + " "
                        + hex(ReadUtils.getBaseDeletionQualities(changed)));
            }
            AlleleLikelihoods<GATKRead, Haplotype> likelihoods =
                    engines[model].computeReadLikelihoods(haplotypes, HEADER, new IndexedSampleList("s"), Map.of("s", reads), true);
            StringBuilder kept = new StringBuilder("k"), bits = new StringBuilder("l");
            for (int read = 0; read < likelihoods.sampleEvidenceCount(0); read++) {
                kept.append(' ').append(likelihoods.sampleEvidence(0).get(read).getName().substring(1));
                for (int haplotype = 0; haplotype < haplotypes.size(); haplotype++) {
                    double value = likelihoods.sampleMatrix(0).get(haplotype, read);
                    bits.append(' ').append(Long.toHexString(Double.doubleToRawLongBits(value)));
                }
            }
            out.println(kept);
            out.println(bits);
            printBest(out, "a", likelihoods, AssemblyBasedCallerUtils.HAPLOTYPE_ALIGNMENT_TIEBREAKING_PRIORITY);
            printBest(out, "p", likelihoods, haplotype -> haplotype.isReference() ? 1.0 : 0);
        }
        out.flush();
    }
}
