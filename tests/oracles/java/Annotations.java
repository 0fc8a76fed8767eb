import htsjdk.samtools.SAMFileHeader;
import htsjdk.variant.variantcontext.Allele;
import htsjdk.variant.variantcontext.Genotype;
import htsjdk.variant.variantcontext.GenotypeBuilder;
import htsjdk.variant.variantcontext.VariantContext;
import htsjdk.variant.variantcontext.VariantContextBuilder;
import htsjdk.variant.vcf.VCFEncoder;
import htsjdk.variant.vcf.VCFHeader;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.broadinstitute.hellbender.engine.FeatureContext;
import org.broadinstitute.hellbender.tools.walkers.annotator.*;
import org.broadinstitute.hellbender.utils.MannWhitneyU;
import org.broadinstitute.hellbender.utils.QualityUtils;
import org.broadinstitute.hellbender.utils.genotyper.AlleleLikelihoods;
import org.broadinstitute.hellbender.utils.genotyper.IndexedAlleleList;
import org.broadinstitute.hellbender.utils.genotyper.IndexedSampleList;
import org.broadinstitute.hellbender.utils.genotyper.LikelihoodMatrix;
import org.broadinstitute.hellbender.utils.read.ArtificialReadUtils;
import org.broadinstitute.hellbender.utils.read.GATKRead;

/**
 * Prints random calls with their reads, and the lines of VCF files that GATK writes for them; and results of single
 * annotations. Doubles are the hex digits of their bits. Arguments: seed, number of calls, number of other cases.
 */
public class Annotations {
    static final PrintStream OUT = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), false);
    static final SAMFileHeader HEADER = ArtificialReadUtils.createArtificialSamHeader();
    static Random random;

    static String bits(double x) {
        return Long.toHexString(Double.doubleToLongBits(x));
    }

    static <T> String join(List<T> values) {
        return values.stream().map(String::valueOf).collect(Collectors.joining(","));
    }

    static String join(double[] values) {
        return Arrays.stream(values).mapToObj(Annotations::bits).collect(Collectors.joining(","));
    }

    static String join(int[] values) {
        return Arrays.stream(values).mapToObj(String::valueOf).collect(Collectors.joining(","));
    }

    static int below(int bound) {
        return random.nextInt(bound);
    }

    static double[] series(int kind) {
        int size = switch (below(40)) {
            case 0 -> 6 + below(4);
            case 1, 2, 3, 4, 5, 6, 7, 8 -> 10 + below(60);
            case 9 -> kind % 5 == 0 ? 3000 + below(4000) : below(2);
            default -> below(6);
        };
        int spread = new int[] {1, 3, 20, 60, 1000}[kind % 5];
        return IntStream.range(0, size).mapToDouble(i -> below(spread)).toArray();
    }

    static void printStatistics(int number) {
        double[] first = series(number), second = series(number);
        OUT.print("ranks " + join(first) + " " + join(second) + " ");
        double z = new MannWhitneyU().test(first, second, MannWhitneyU.TestType.FIRST_DOMINATES).getZ();
        OUT.println(Double.isNaN(z) ? "." : bits(z));
        int max = new int[] {3, 12, 60, 250, 4000}[below(5)];
        int[] t = IntStream.range(0, 4).map(i -> below(max)).toArray();
        if (below(4) == 0) {
            t[below(4)] = 0;
        }
        int[][] table = {{t[0], t[1]}, {t[2], t[3]}};
        double p = Math.max(FisherStrand.pValueForContingencyTable(table), 1E-320);
        OUT.println("strands " + join(t) + " " + bits(QualityUtils.phredScaleErrorRate(p)) + " "
                + bits(StrandOddsRatio.calculateSOR(table)));
        double qd = random.nextDouble() * 40;
        OUT.println("quality " + bits(qd) + " " + bits(QualByDepth.fixTooHighQD(qd)));
        printHeterozygosity();
    }

    static int[] pls(int alleles, int ploidy) {
        int count = ploidy == 2 ? alleles * (alleles + 1) / 2 : alleles * (alleles + 1) * (alleles + 2) / 6;
        int max = new int[] {2, 60, 2000}[below(3)];
        int[] pls = IntStream.range(0, count).map(i -> below(max)).toArray();
        int min = Arrays.stream(pls).min().getAsInt();
        return Arrays.stream(pls).map(pl -> pl - min).toArray();
    }

    static void printHeterozygosity() {
        int alternates = 1 + below(4) / 2, samples = 1 + below(30);
        List<Allele> alleles = new ArrayList<>(List.of(Allele.create("A", true), Allele.create("C"), Allele.create("G")));
        alleles = alleles.subList(0, 1 + alternates);
        List<Genotype> genotypes = new ArrayList<>();
        List<String> texts = new ArrayList<>();
        for (int sample = 0; sample < samples; sample++) {
            int[] pls = pls(alleles.size(), 2);
            boolean isCalled = below(8) > 0;
            Allele allele = isCalled ? alleles.get(0) : Allele.NO_CALL;
            genotypes.add(new GenotypeBuilder("s" + sample, List.of(allele, allele)).PL(pls).make());
            texts.add((isCalled ? "0/0:" : "./.:") + join(pls));
        }
        VariantContext vc = new VariantContextBuilder("", "chr1", 10, 10, alleles).genotypes(genotypes).make();
        Object excess = new ExcessHet().annotate(null, vc, null).get("ExcessHet");
        Object inbreeding = new InbreedingCoeff().annotate(null, vc, null).get("InbreedingCoeff");
        OUT.println("samples " + String.join(" ", texts) + " " + (excess == null ? "." : excess) + " "
                + (inbreeding == null ? "." : inbreeding));
    }

    static String bases(int length) {
        return random.ints(length, 0, 4).mapToObj(i -> "ACGT".substring(i, i + 1)).collect(Collectors.joining());
    }

    static String cigar(int bases) {
        int left = below(4) == 0 ? below(bases / 3 + 1) : 0, right = below(4) == 0 ? below(bases / 3 + 1) : 0;
        int middle = bases - left - right, before = 1 + below(Math.max(1, middle - 3));
        String clip = below(4) == 0 ? "H" : "S", text = "";
        if (left > 0) {
            text += left + "S";
        }
        int after = middle - before;
        text += switch (after < 3 ? 9 : below(8)) {
            case 0 -> before + "M" + (1 + below(6)) + "D" + after + "M";
            case 1 -> before + "M" + (after / 2) + "I" + (after - after / 2) + "M";
            case 2 -> left == 0 ? before + "I" + after + "M" : middle + "M";
            case 3 -> right == 0 ? before + "M" + after + "I" : middle + "M";
            case 4 -> before + "M" + (1 + below(3)) + "D1M" + (1 + below(3)) + "D" + (after - 1) + "M";
            default -> middle + "M";
        };
        text += right > 0 ? right + "S" : "";
        if (below(5) == 0) {
            text = (1 + below(20)) + "H" + text;
        }
        return below(5) == 0 ? text + (1 + below(20)) + "H" : text;
    }

    static GATKRead read(String name, int around) {
        int length = 4 + below(30);
        byte[] qualities = new byte[length];
        for (int i = 0; i < length; i++) {
            qualities[i] = (byte) (2 + below(40));
        }
        int start = Math.max(1, around - below(40) + 8);
        GATKRead read = ArtificialReadUtils.createArtificialRead(HEADER, name, 0, start, bases(length).getBytes(), qualities, cigar(length));
        read.setMappingQuality(new int[] {60, 60, 60, 20 + below(40), below(256), 0, 255}[below(7)]);
        read.setIsReverseStrand(random.nextBoolean());
        return read;
    }

    static List<Allele> alleles(boolean withNonRef) {
        String reference = bases(below(3) == 0 ? 1 + below(5) : 1);
        LinkedHashSet<Allele> alleles = new LinkedHashSet<>(List.of(Allele.create(reference, true)));
        for (int i = 1 + below(3); i > 0; i--) {
            String text = below(10) == 0 ? "*" : bases(below(3) == 0 ? 1 + below(4) : 1);
            if (!text.equals(reference)) {
                alleles.add(Allele.create(text));
            }
        }
        if (withNonRef) {
            alleles.add(Allele.NON_REF_ALLELE);
        } else if (alleles.size() == 1) {
            alleles.add(Allele.create(reference + "A"));
        }
        return new ArrayList<>(alleles);
    }

    static VariantAnnotatorEngine engine(boolean isGvcf) {
        List<Annotation> annotations = new ArrayList<>(List.of(new BaseQualityRankSumTest(), new MappingQualityRankSumTest(),
                new ReadPosRankSumTest(), new Coverage(), new ExcessHet(), new InbreedingCoeff(), new RMSMappingQuality(),
                new DepthPerAlleleBySample(), new DepthPerSampleHC()));
        annotations.addAll(isGvcf ? List.of(new StrandBiasBySample())
                : List.of(new ChromosomeCounts(), new FisherStrand(), new StrandOddsRatio(), new QualByDepth()));
        return new VariantAnnotatorEngine(annotations, null, Collections.emptyList(), isGvcf, false);
    }

    static double confidence() {
        return switch (below(4)) {
            case 0 -> -random.nextInt(400) / 100.0;
            case 1 -> -(2.99 + below(200) / 10000.0);
            case 2 -> -random.nextDouble() * 10000;
            default -> below(5) == 0 ? 0.0 : -random.nextDouble() * 60;
        };
    }

    static double frequency() {
        return switch (below(6)) {
            case 0 -> 0.0;
            case 1 -> below(9) == 0 ? Double.NaN : 1.0;
            case 2 -> Math.pow(10, -random.nextDouble() * 25);
            case 3 -> below(2000) / 2000.0;
            default -> 0.5;
        };
    }

    static Genotype genotype(String name, List<Allele> alleles) {
        int ploidy = below(8) == 0 ? 3 : 2;
        List<Allele> called = new ArrayList<>();
        boolean isCalled = below(10) > 0;
        for (int i = 0; i < ploidy; i++) {
            called.add(isCalled ? alleles.get(below(alleles.size())) : Allele.NO_CALL);
        }
        GenotypeBuilder builder = new GenotypeBuilder(name, called).PL(pls(alleles.size(), ploidy));
        String phase = ".";
        if (below(8) > 0) {
            builder.GQ(below(3) == 0 ? below(200) : below(99));
        }
        if (below(5) == 0) {
            String side = below(2) == 0 ? "0|1" : "1|0";
            int set = 1 + below(100000);
            phase = side + ";" + set + "_A_T;" + set;
            builder.phased(true).attribute("PGT", side).attribute("PID", set + "_A_T").attribute("PS", set);
        }
        Genotype genotype = builder.make();
        String indices = called.stream().map(it -> it.isNoCall() ? "." : "" + alleles.indexOf(it)).collect(Collectors.joining(","));
        OUT.println("sample " + indices + " " + join(genotype.getPL()) + " " + genotype.getGQ() + " " + phase);
        return genotype;
    }

    static void printCall() {
        boolean isGvcf = random.nextBoolean();
        int start = 20 + below(900);
        List<Allele> all = alleles(isGvcf), alleles = new ArrayList<>(all);
        if (alleles.size() > 2 + (isGvcf ? 1 : 0) && below(3) == 0) {
            alleles.remove(1 + below(alleles.size() - (isGvcf ? 2 : 1)));
        }
        OUT.println("call " + (isGvcf ? "R " : "V ") + start + " " + join(all.stream().map(Allele::getDisplayString).toList())
                + " " + join(alleles.stream().map(all::indexOf).toList()));
        double confidence = confidence();
        List<Integer> counts = new ArrayList<>();
        List<Double> frequencies = new ArrayList<>();
        for (int i = 1; i < alleles.size(); i++) {
            counts.add(below(3));
            frequencies.add(frequency());
        }
        OUT.println("values " + bits(confidence) + " " + join(counts) + " " + join(frequencies.stream().mapToDouble(x -> x).toArray()));
        int samples = !isGvcf && below(6) == 0 ? 2 + below(12) : 1;
        List<String> names = IntStream.range(0, samples).mapToObj(i -> "s" + (char) ('a' + i)).toList();
        List<Genotype> genotypes = names.stream().map(name -> genotype(name, alleles)).toList();
        Map<String, List<GATKRead>> reads = new LinkedHashMap<>();
        for (String name : names) {
            int count = samples > 1 ? below(3) : below(4) == 0 ? 24 + below(16) : below(11);
            reads.put(name, IntStream.range(0, count).mapToObj(i -> read("r" + i, start)).toList());
        }
        AlleleLikelihoods<GATKRead, Allele> likelihoods = new AlleleLikelihoods<>(new IndexedSampleList(names), new IndexedAlleleList<>(all), reads);
        for (int sample = 0; sample < samples; sample++) {
            LikelihoodMatrix<GATKRead, Allele> matrix = likelihoods.sampleMatrix(sample);
            for (int r = 0; r < matrix.evidenceCount(); r++) {
                double[] values = new double[all.size()];
                boolean isFiltered = below(10) == 0, isClose = below(4) == 0;
                for (int a = 0; a < values.length; a++) {
                    values[a] = isFiltered ? 0 : isClose ? -1 - below(8) * 0.05 : -random.nextDouble() * 8;
                    matrix.set(a, r, values[a]);
                }
                GATKRead read = matrix.getEvidence(r);
                String qualities = htsjdk.samtools.SAMUtils.phredToFastq(read.getBaseQualities());
                OUT.println("read " + sample + " " + read.getStart() + " " + read.getCigar() + " " + qualities + " "
                        + read.getMappingQuality() + " " + (read.isReverseStrand() ? 1 : 0) + " " + join(values));
            }
        }
        VariantContext vc = new VariantContextBuilder("HC", "chr1", start, start + alleles.get(0).length() - 1, alleles).genotypes(genotypes)
                .log10PError(confidence).attribute("MLEAC", counts).attribute("MLEAF", frequencies).make();
        VariantContext annotated = engine(isGvcf).annotateContext(vc, new FeatureContext(), null, likelihoods, annotation -> true);
        VCFHeader header = new VCFHeader(Collections.emptySet(), new LinkedHashSet<>(names));
        OUT.println("> " + new VCFEncoder(header, true, false).encode(annotated));
    }

    public static void main(String[] arguments) {
        random = new Random(Long.parseLong(arguments[0]));
        for (int i = 0; i < Integer.parseInt(arguments[1]); i++) {
            printCall();
        }
        for (int i = 0; i < Integer.parseInt(arguments[2]); i++) {
            printStatistics(i);
        }
        OUT.flush();
    }
}
