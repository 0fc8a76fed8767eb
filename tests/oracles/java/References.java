import htsjdk.samtools.SAMFileHeader;
import htsjdk.samtools.SAMReadGroupRecord;
import htsjdk.samtools.SAMUtils;
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
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.broadinstitute.hellbender.engine.AssemblyRegion;
import org.broadinstitute.hellbender.tools.walkers.genotyper.HomogeneousPloidyModel;
import org.broadinstitute.hellbender.tools.walkers.haplotypecaller.ReferenceConfidenceModel;
import org.broadinstitute.hellbender.utils.SimpleInterval;
import org.broadinstitute.hellbender.utils.genotyper.AlleleLikelihoods;
import org.broadinstitute.hellbender.utils.genotyper.IndexedAlleleList;
import org.broadinstitute.hellbender.utils.genotyper.IndexedSampleList;
import org.broadinstitute.hellbender.utils.haplotype.Haplotype;
import org.broadinstitute.hellbender.utils.read.ArtificialReadUtils;
import org.broadinstitute.hellbender.utils.read.GATKRead;
import org.broadinstitute.hellbender.utils.read.ReadCoordinateComparator;
import org.broadinstitute.hellbender.utils.read.ReadUtils;
import org.broadinstitute.hellbender.utils.variant.writers.GVCFBlockCombiner;

/**
 * Prints random reads and the confidence in the reference that GATK computes from them; and random sites and variants
 * with the lines of a GVCF file that GATK makes of them. Arguments: seed, number of regions, number of files.
 */
public class References {
    static final PrintStream OUT = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), false);
    static final IndexedSampleList SAMPLES = new IndexedSampleList("s");
    static final List<Integer> BANDS = IntStream.concat(IntStream.rangeClosed(1, 60), IntStream.of(70, 80, 90, 99)).boxed().toList();
    static Random random;
    static SAMFileHeader header;

    static int below(int bound) {
        return random.nextInt(bound);
    }

    static String join(int[] values) {
        return values == null ? "." : Arrays.stream(values).mapToObj(String::valueOf).collect(Collectors.joining(","));
    }

    static String bases(int length) {
        StringBuilder text = new StringBuilder();
        while (text.length() < length) {
            String unit = random.ints(1 + below(4), 0, 4).mapToObj(i -> "ACGT".substring(i, i + 1)).collect(Collectors.joining());
            text.append(unit.repeat(below(4) == 0 ? 1 + below(12) : 1));
            if (below(60) == 0) {
                text.append("N".repeat(1 + below(3)));
            }
        }
        return text.substring(0, length);
    }

    /** Returns a read that fits the reference at an offset, but for errors, indels and clips. */
    static GATKRead read(String name, String reference, int referenceStart, int offset, int length) {
        StringBuilder text = new StringBuilder(), cigar = new StringBuilder();
        int at = offset, left = length;
        if (below(12) == 0) {
            int clip = 1 + below(8);
            text.append(bases(clip));
            cigar.append(below(2) == 0 ? "3H" : "").append(clip).append("S");
        }
        boolean isFirst = true;
        while (left > 0 && at < reference.length()) {
            int run = Math.min(Math.min(left, reference.length() - at), below(3) == 0 ? 1 + below(20) : 1000);
            text.append(reference, at, at + run);
            cigar.append(run).append("M");
            at += run;
            left -= run;
            int size = 1 + below(below(3) == 0 ? 14 : 3);
            if (left > 1 && at + size + 1 < reference.length()) {
                if (below(2) == 0) {
                    cigar.append(size).append("D");
                    at += size;
                } else {
                    cigar.append(size).append("I");
                    text.append(below(2) == 0 ? bases(size) : reference.substring(at - Math.min(size, at), at) + bases(Math.max(0, size - at)));
                }
            } else {
                break;
            }
        }
        if (below(12) == 0) {
            int clip = 1 + below(25);
            text.append(bases(clip));
            cigar.append(clip).append("S");
        } else if (below(15) == 0) {
            int size = 1 + below(5);
            text.append(bases(size));
            cigar.append(size).append("I");
        }
        byte[] qualities = new byte[text.length()];
        int errors = below(6) == 0 ? 4 : 60;
        for (int i = 0; i < qualities.length; i++) {
            qualities[i] = (byte) (below(8) == 0 ? below(12) : below(4) == 0 ? 2 + below(58) : 37);
            if (below(errors) == 0) {
                text.setCharAt(i, "ACGTN".charAt(below(5)));
            }
        }
        return ArtificialReadUtils.createArtificialRead(header, name, 0, referenceStart + offset, text.toString().getBytes(), qualities, cigar.toString());
    }

    static void setMate(GATKRead read) {
        read.setMappingQuality(60);
        read.setReadGroup("g");
        read.setIsReverseStrand(random.nextBoolean());
        if (below(4) == 0) {
            return;
        }
        read.setIsPaired(true);
        read.setMatePosition("chr1", Math.max(1, read.getStart() - 40 + below(80)));
        read.setMateIsReverseStrand(below(8) == 0 ? read.isReverseStrand() : !read.isReverseStrand());
        read.setFragmentLength((below(3) == 0 ? 1 : -1) * below(250));
        if (!read.isReverseStrand() && below(2) == 0) {
            read.setFragmentLength(below(100));
        }
    }

    /** Returns the first and last position at which a pileup shows the read. */
    static String visible(GATKRead read) {
        int first = read.getStart(), last = read.getEnd();
        while (first <= last && ReadUtils.isBaseInsideAdaptor(read, first)) {
            first++;
        }
        while (first <= last && ReadUtils.isBaseInsideAdaptor(read, last)) {
            last--;
        }
        return first + " " + last;
    }

    static void printRegion() {
        int ploidy = below(4) == 0 ? 1 + below(4) : 2;
        int padded = 200 + below(1000), length = 30 + below(150);
        int before = below(30), size = 1 + below(Math.max(1, length - before - below(20)));
        String reference = bases(length);
        SimpleInterval paddedSpan = new SimpleInterval("chr1", padded, padded + length - 1);
        SimpleInterval span = new SimpleInterval("chr1", padded + before, Math.min(padded + before + size, padded + length) - 1);
        AssemblyRegion region = new AssemblyRegion(span, paddedSpan, true, header);
        OUT.println("region " + ploidy + " " + padded + " " + reference);
        String further = reference + (below(5) == 0 ? bases(30) : "");
        int depth = new int[] {0, 3, 20, 60, 100}[below(5)], kind = below(4);
        List<GATKRead> reads = new ArrayList<>();
        for (int i = 0; i < depth; i++) {
            int offset = kind == 0 ? below(5) : below(Math.max(1, length - 5));
            GATKRead read = read("r" + below(60), further, padded, offset, 3 + below(kind == 1 ? 20 : 120));
            setMate(read);
            reads.add(read);
        }
        reads.sort(new ReadCoordinateComparator(header));
        for (GATKRead read : reads) {
            OUT.println("read " + read.getStart() + " " + read.getCigar() + " " + read.getBasesString() + " "
                    + SAMUtils.phredToFastq(read.getBaseQualities()) + " " + visible(read));
        }
        List<VariantContext> variants = new ArrayList<>();
        for (int i = below(3); i > 0; i--) {
            int start = span.getStart() + below(span.size());
            if (variants.stream().noneMatch(it -> it.getStart() == start)) {
                variants.add(new VariantContextBuilder("", "chr1", start, start, List.of(Allele.create("A", true), Allele.create("C"))).make());
            }
        }
        Haplotype haplotype = new Haplotype(reference.getBytes(), true);
        AlleleLikelihoods<GATKRead, Haplotype> likelihoods =
                new AlleleLikelihoods<>(SAMPLES, new IndexedAlleleList<>(List.of(haplotype)), Map.of("s", reads));
        ReferenceConfidenceModel model = new ReferenceConfidenceModel(SAMPLES, header, 10, 0, (byte) 30, true, false);
        List<VariantContext> results = model.calculateRefConfidence(haplotype, List.of(haplotype), paddedSpan, region, likelihoods,
                new HomogeneousPloidyModel(SAMPLES, ploidy), variants);
        for (VariantContext result : results) {
            if (!variants.contains(result)) {
                Genotype genotype = result.getGenotype(0);
                OUT.println("at " + result.getStart() + " " + join(genotype.getAD()) + " " + genotype.getDP() + " " + genotype.getGQ()
                        + " " + join(genotype.getPL()));
            }
        }
    }

    static void printFile() {
        boolean isDefault = below(2) == 0;
        List<Integer> bands = isDefault ? BANDS : IntStream.rangeClosed(1, 100).filter(i -> below(12) == 0).boxed().toList();
        bands = bands.isEmpty() ? List.of(20) : bands;
        OUT.println("file " + bands.stream().map(String::valueOf).collect(Collectors.joining(",")));
        GVCFBlockCombiner combiner = new GVCFBlockCombiner(bands, false);
        VCFEncoder encoder = new VCFEncoder(new VCFHeader(Collections.emptySet(), Set.of("s")), true, false);
        int contig = 0, position = 1 + below(50), quality = below(120), depth = below(60), ploidy = 2;
        for (int i = 20 + below(200); i > 0; i--) {
            quality = below(6) == 0 ? below(130) : Math.max(0, quality + below(3) - 1);
            depth = below(30) == 0 ? below(3000) : Math.max(0, depth + below(5) - 2);
            ploidy = below(80) == 0 ? 1 + below(3) : ploidy;
            boolean isVariant = below(20) == 0, isCalled = below(15) > 0, hasPls = below(60) > 0;
            String reference = isVariant && below(2) == 0 ? bases(2 + below(12)) : bases(1);
            List<Allele> alleles = new ArrayList<>(List.of(Allele.create(reference, true)));
            if (isVariant) {
                alleles.add(Allele.create(below(5) == 0 ? "*" : reference + "A"));
            }
            alleles.add(Allele.NON_REF_ALLELE);
            int count = ploidy + 1;
            int[] pls = new int[isVariant ? (ploidy == 2 ? 6 : ploidy == 1 ? 3 : 10) : count];
            for (int k = 1; k < pls.length; k++) {
                pls[k] = k == 1 ? quality : quality + below(500);
            }
            if (below(40) == 0) {
                pls[0] = 3;
            }
            int called = isVariant && below(4) > 0 ? 1 : 0;
            List<Allele> genotypeAlleles = Collections.nCopies(ploidy, isCalled ? alleles.get(called) : Allele.NO_CALL);
            GenotypeBuilder builder = new GenotypeBuilder("s", genotypeAlleles);
            boolean hasQuality = below(60) > 0, hasDepth = below(40) > 0;
            if (hasPls) {
                builder.PL(pls.clone());
            }
            if (hasQuality) {
                builder.GQ(quality);
            }
            if (hasDepth) {
                builder.DP(depth);
            }
            OUT.println("site " + contig + " " + position + " " + alleles.stream().map(Allele::getDisplayString).collect(Collectors.joining(","))
                    + " " + ploidy + " " + (isCalled ? called : ".") + " " + (hasQuality ? quality : ".") + " " + (hasDepth ? depth : ".")
                    + " " + (hasPls ? join(pls) : "."));
            VariantContextBuilder site = new VariantContextBuilder("", "chr" + (contig + 1), position, position + reference.length() - 1, alleles);
            combiner.submit(site.genotypes(builder.make()).make());
            position += below(60) == 0 ? 1 + below(30) : 1;
            if (below(100) == 0) {
                contig++;
                position = 1 + below(50);
            }
        }
        combiner.signalEndOfInput();
        for (VariantContext record : combiner.consumeFinalizedItems()) {
            OUT.println("> " + encoder.encode(record));
        }
    }

    public static void main(String[] arguments) {
        header = ArtificialReadUtils.createArtificialSamHeaderWithReadGroup(new SAMReadGroupRecord("g"));
        header.getReadGroup("g").setSample("s");
        random = new Random(Long.parseLong(arguments[0]));
        for (int i = 0; i < Integer.parseInt(arguments[1]); i++) {
            printRegion();
        }
        for (int i = 0; i < Integer.parseInt(arguments[2]); i++) {
            printFile();
        }
        OUT.flush();
    }
}
