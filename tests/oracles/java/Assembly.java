import java.io.BufferedOutputStream;
import java.io.File;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import htsjdk.samtools.CigarElement;
import htsjdk.samtools.CigarOperator;
import htsjdk.samtools.SAMFileHeader;
import htsjdk.samtools.SAMReadGroupRecord;
import htsjdk.samtools.SAMRecord;
import htsjdk.samtools.SAMRecordIterator;
import htsjdk.samtools.SAMSequenceDictionary;
import htsjdk.samtools.SAMSequenceRecord;
import htsjdk.samtools.SamReader;
import htsjdk.samtools.SamReaderFactory;
import htsjdk.samtools.reference.ReferenceSequenceFile;
import htsjdk.samtools.reference.ReferenceSequenceFileFactory;
import org.broadinstitute.hellbender.engine.AssemblyRegion;
import org.broadinstitute.hellbender.engine.ReferenceContext;
import org.broadinstitute.hellbender.engine.ReferenceDataSource;
import org.broadinstitute.hellbender.tools.walkers.haplotypecaller.AssemblyRegionTrimmer;
import org.broadinstitute.hellbender.tools.walkers.haplotypecaller.AssemblyResult;
import org.broadinstitute.hellbender.tools.walkers.haplotypecaller.AssemblyResultSet;
import org.broadinstitute.hellbender.tools.walkers.haplotypecaller.HaplotypeCallerArgumentCollection;
import org.broadinstitute.hellbender.tools.walkers.haplotypecaller.graphs.GraphBasedKBestHaplotypeFinder;
import org.broadinstitute.hellbender.tools.walkers.haplotypecaller.graphs.BaseEdge;
import org.broadinstitute.hellbender.tools.walkers.haplotypecaller.graphs.KBestHaplotype;
import org.broadinstitute.hellbender.tools.walkers.haplotypecaller.graphs.SeqGraph;
import org.broadinstitute.hellbender.tools.walkers.haplotypecaller.graphs.SeqVertex;
import org.broadinstitute.hellbender.tools.walkers.haplotypecaller.readthreading.ReadThreadingAssembler;
import org.broadinstitute.hellbender.utils.SimpleInterval;
import org.broadinstitute.hellbender.utils.clipping.ReadClipper;
import org.broadinstitute.hellbender.utils.haplotype.Event;
import org.broadinstitute.hellbender.utils.haplotype.Haplotype;
import org.broadinstitute.hellbender.utils.read.GATKRead;
import org.broadinstitute.hellbender.utils.read.SAMRecordToGATKReadAdapter;
import org.broadinstitute.hellbender.utils.reference.ReferenceBases;
import org.broadinstitute.hellbender.utils.smithwaterman.SmithWatermanAligner;

/**
 * Prints regions, and what GATK assembles from them: for each k-mer size the status and the best paths, then haplotypes,
 * events, and haplotypes after trimming. The regions are random, by a seed each, or windows of a BAM file.
 * Arguments: the first seed and the number of regions; or a FASTA file, a BAM file, and the distance of windows; or none
 * for cases that are made by hand.
 */
public class Assembly {
    static final String CONTIG = "c";
    static final HaplotypeCallerArgumentCollection ARGUMENTS = new HaplotypeCallerArgumentCollection();
    static final SmithWatermanAligner ALIGNER = SmithWatermanAligner.getAligner(SmithWatermanAligner.Implementation.FASTEST_AVAILABLE);
    static PrintStream out;
    static long state;

    /** SplitMix64. */
    static long next() {
        long z = state += 0x9e3779b97f4a7c15L;
        z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
        z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
        return z ^ z >>> 31;
    }

    /** Draws a number from low to high, both included. */
    static int draw(int low, int high) {
        return low + (int) Long.remainderUnsigned(next() >>> 8, high - low + 1);
    }

    /** Draws true once in so many times. */
    static boolean once(int times) {
        return draw(1, times) == 1;
    }

    static String bases(int count, String alphabet) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < count; i++) {
            text.append(alphabet.charAt(draw(0, alphabet.length() - 1)));
        }
        return text.toString();
    }

    /** Draws a contig with tandem repeats, copies of earlier sequence, and runs of N. */
    static String contig() {
        int length = once(12) ? draw(6, once(2) ? 40 : 130) : once(4) ? draw(400, 900) : draw(60, 400);
        String alphabet = once(8) ? "AC" : once(6) ? "AACGT" : "ACGT";
        int repeats = draw(3, 40), tandems = draw(3, 40);
        StringBuilder text = new StringBuilder();
        while (text.length() < length) {
            text.append(bases(draw(20, 150), alphabet));
            if (once(tandems)) {
                text.append(bases(draw(1, 6), alphabet).repeat(draw(2, once(5) ? 40 : 12)));
            }
            if (once(repeats)) {
                int from = draw(0, text.length() - 1);
                text.append(text.substring(from, Math.min(text.length(), from + draw(8, once(4) ? 120 : 40))));
            }
            if (once(30)) {
                text.append("N".repeat(draw(1, once(3) ? 60 : 5)));
            }
        }
        return text.substring(0, length);
    }

    /** Draws a sequence that differs from the reference. */
    static String haplotype(String reference) {
        int distance = once(4) ? draw(5, 40) : draw(30, 250);
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < reference.length(); i++) {
            if (!once(distance)) {
                text.append(reference.charAt(i));
                continue;
            }
            switch (draw(0, 7)) {
                case 0: case 1: case 2: text.append(bases(1, "ACGT")); break;
                case 3: text.append(reference.charAt(i)).append(bases(draw(1, once(4) ? 60 : 8), "ACGT")); break;
                case 4: i += draw(1, once(4) ? 120 : 10); break;
                case 5: text.append(bases(draw(2, 4), "ACGT")); i += draw(1, 4); break;
                case 6: text.append(text.substring(Math.max(0, text.length() - draw(1, once(4) ? 80 : 6)))); break;
                default: text.append(reference.charAt(i)).append(reference.charAt(i)); break;
            }
        }
        return text.toString();
    }

    static GATKRead read(SAMFileHeader header, int number, List<String> haplotypes, int start, int end, int errorDistance, int badDistance) {
        String haplotype = haplotypes.get(draw(0, haplotypes.size() - 1));
        int length = Math.min(haplotype.length(), draw(once(5) ? 8 : 60, 150));
        int last = Math.min(haplotype.length() - length, end), from = draw(Math.min(last, Math.max(0, start - length)), last);
        byte[] text = haplotype.substring(from, from + length).getBytes();
        byte[] qualities = new byte[length];
        boolean low = once(20);
        for (int i = 0; i < length; i++) {
            qualities[i] = (byte) (once(badDistance) ? draw(2, 10) : low ? draw(2, 20) : draw(11, 40));
            if (once(errorDistance)) {
                text[i] = (byte) "ACGTN".charAt(draw(0, once(10) ? 4 : 3));
            }
        }
        SAMRecord record = new SAMRecord(header);
        record.setReadName("r" + number);
        record.setReferenceName(CONTIG);
        record.setAlignmentStart(start);
        record.setMappingQuality(60);
        record.setReadBases(text);
        record.setBaseQualities(qualities);
        int left = once(8) ? draw(0, length - 1) : 0, right = once(8) ? draw(0, length - left - 1) : 0;
        record.setCigarString((left > 0 ? left + "S" : "") + (length - left - right) + "M" + (right > 0 ? right + "S" : ""));
        record.setAttribute("RG", "g" + (header.getReadGroups().size() > 1 ? draw(0, 1) : 0));
        return new SAMRecordToGATKReadAdapter(record);
    }

    static void assembleRandom(long seed) {
        state = seed;
        String text = contig();
        SAMFileHeader header = new SAMFileHeader(new SAMSequenceDictionary(List.of(new SAMSequenceRecord(CONTIG, text.length()))));
        for (int group = 0; group < (once(6) ? 2 : 1); group++) {
            SAMReadGroupRecord record = new SAMReadGroupRecord("g" + group);
            record.setSample("s" + group);
            header.addReadGroup(record);
        }
        int start = draw(1, text.length()), end = Math.min(text.length(), start + draw(0, 299));
        List<String> haplotypes = new ArrayList<>(List.of(text));
        int ploidy = draw(1, once(5) ? 6 : 2);
        if (once(4)) {
            haplotypes.clear();
        }
        for (int i = 0; i < ploidy; i++) {
            haplotypes.add(haplotype(text));
        }
        haplotypes.removeIf(String::isEmpty);
        int count = haplotypes.isEmpty() ? 0 : draw(once(10) ? 0 : 4, text.length() / 10 + (once(3) ? 50 : 6));
        int errorDistance = once(6) ? draw(15, 60) : draw(60, 2000), badDistance = once(4) ? draw(5, 40) : draw(40, 1000);
        List<GATKRead> reads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            reads.add(read(header, i, haplotypes, Math.max(1, start - 100), end + 100, errorDistance, badDistance));
        }
        assemble(Long.toString(seed), header, text.getBytes(), start, end, reads, seed % 4 == 0);
    }

    /** A contig of 260 bases without a repeated 10-mer, and parts of it, from which the cases are made. */
    static final String TEXT = "GCTAAGTCCGATTGACCTAGGCATCAGTTACGGACTGTCAATCCGTGAAGCTTGCACCATTGGATACCGTTCAGACCAAGTGCTTAGGTCGAACTATGCC"
            + "TGACGTTGAGCACATTACGAGTGGCTCAACCTGATTCGTACAGGACATCTGCGTAATGGTCCACTAGACTTCGGCAGTATCCTGTTGCGACATGAACTCG"
            + "TGTACCAGAGGTTATCGCCTAAGCATGGTGATCTACCCAGTCGGAAGACAATTCCACGGT";

    static String from(int start, int end) {
        return TEXT.substring(start, end);
    }

    /** Replaces the bases from start to end, 0-based. */
    static String replace(int start, int end, String bases) {
        return TEXT.substring(0, start) + bases + TEXT.substring(end);
    }

    static String swap(String text, int... positions) {
        char[] letters = text.toCharArray();
        for (int position : positions) {
            letters[position] = "CATG".charAt("ACGT".indexOf(letters[position]));
        }
        return new String(letters);
    }

    /** Cuts reads of a length from a sequence, at a distance from each other, each twice. */
    static List<String> tile(String text, int length, int distance) {
        List<String> reads = new ArrayList<>();
        for (int start = 0; start < text.length(); start += distance) {
            String read = text.substring(Math.min(start, Math.max(0, text.length() - length)), Math.min(text.length(), start + length));
            reads.add(read);
            reads.add(read);
        }
        return reads;
    }

    static void assembleCase(String name, String text, List<String> reads) {
        assembleCase(name, text, reads, 0);
    }

    /** Assembles reads of quality 30. Each base whose index is a multiple of badDistance has quality 9. */
    static void assembleCase(String name, String text, List<String> reads, int badDistance) {
        SAMFileHeader header = new SAMFileHeader(new SAMSequenceDictionary(List.of(new SAMSequenceRecord(CONTIG, text.length()))));
        SAMReadGroupRecord group = new SAMReadGroupRecord("g");
        group.setSample("s");
        header.addReadGroup(group);
        int middle = (text.length() + 1) / 2, start = Math.max(1, middle - 30);
        List<GATKRead> records = new ArrayList<>();
        for (String read : reads) {
            SAMRecord record = new SAMRecord(header);
            record.setReadName("r");
            record.setReferenceName(CONTIG);
            record.setAlignmentStart(start);
            record.setReadBases(read.getBytes());
            byte[] qualities = new byte[read.length()];
            for (int i = 0; i < qualities.length; i++) {
                qualities[i] = (byte) (badDistance > 0 && i % badDistance == 0 ? 9 : 30);
            }
            record.setBaseQualities(qualities);
            record.setCigarString(read.length() + "M");
            record.setAttribute("RG", "g");
            records.add(new SAMRecordToGATKReadAdapter(record));
        }
        assemble(name, header, text.getBytes(), start, Math.min(text.length(), middle + 30), records, true);
    }

    static List<String> both(List<String> first, List<String> second) {
        List<String> reads = new ArrayList<>(first);
        reads.addAll(second);
        return reads;
    }

    static void assembleCases() {
        List<String> same = tile(TEXT, 100, 50);
        String few = from(0, 120), many = swap(few, 12, 25, 38, 51, 64, 77, 90, 103);
        assembleCase("reference-with-n", replace(110, 115, "NNNNN"), both(tile(swap(TEXT, 90), 100, 40), tile(swap(TEXT, 140), 100, 40)));
        assembleCase("reference-all-n", "N".repeat(200), same);
        assembleCase("read-with-n", TEXT, tile(replace(120, 121, "N"), 100, 25));
        assembleCase("repeat-of-30", from(0, 120) + from(40, 70) + from(120, 230), tile(swap(from(0, 120) + from(40, 70) + from(120, 230), 130), 100, 30));
        String repeat = from(0, 120) + from(10, 110) + "TTGA";
        assembleCase("repeat-of-100", repeat, tile(swap(repeat, 115), 110, 35));
        assembleCase("homopolymer", from(0, 90) + "A".repeat(60) + from(90, 180), tile(from(0, 90) + "A".repeat(58) + from(90, 180), 120, 30));
        assembleCase("dinucleotides", from(0, 70) + "CA".repeat(55) + from(70, 140), tile(from(0, 70) + "CA".repeat(52) + from(70, 140), 150, 30));
        assembleCase("cycle", TEXT, tile(from(0, 150) + from(110, 260), 45, 9));
        assembleCase("cycle-at-all-sizes", TEXT, tile(from(0, 170) + from(70, 170) + from(70, 260), 101, 11));
        assembleCase("graphs-differ", TEXT, both(tile(swap(TEXT, 120, 135), 80, 20), same));
        assembleCase("equal-scores", TEXT, both(tile(swap(TEXT, 60), 60, 30), tile(swap(TEXT, 180), 60, 30)));
        assembleCase("over-128-paths", few, both(tile(many, 24, 6), tile(few, 24, 6)));
        for (int length = 3; length <= 5; length++) {
            assembleCase("tail-of-" + length, TEXT, both(same, tile(swap(TEXT, 130).substring(60, 130 + length), 100, 100)));
            assembleCase("head-of-" + length, TEXT, both(same, tile(swap(TEXT, 130).substring(131 - length, 220), 100, 100)));
        }
        assembleCase("tail-with-mismatch-at-end", TEXT, both(same, tile(swap(TEXT, 125, 139).substring(60, 140), 100, 100)));
        assembleCase("tail-with-deletion", TEXT, both(same, tile(replace(130, 136, "").substring(60, 146), 100, 100)));
        assembleCase("tail-with-insertion", TEXT, both(same, tile(replace(130, 130, "GTACC").substring(60, 150), 100, 100)));
        assembleCase("head-with-deletion", TEXT, both(same, tile(replace(130, 136, "").substring(118, 220), 110, 110)));
        assembleCase("head-with-two-mismatches", TEXT, both(same, tile(swap(TEXT, 120, 130).substring(105, 220), 120, 120)));
        assembleCase("head-lengthened", TEXT, both(same, tile(swap(TEXT, 131).substring(129, 220), 120, 120)));
        assembleCase("runs-shorter-than-kmers", TEXT, tile(swap(TEXT, 130), 100, 30), 10);
        assembleCase("runs-of-12", TEXT, tile(swap(TEXT, 130), 100, 7), 13);
        assembleCase("start-in-repeat", TEXT, both(same, List.of("CA".repeat(20), "CA".repeat(20), "CA".repeat(8) + from(130, 190), "CA".repeat(8) + from(130, 190))));
        assembleCase("one-vertex", TEXT, same);
        assembleCase("no-reads", TEXT, List.of());
        assembleCase("deletion-at-start", TEXT, both(same, tile(replace(2, 22, ""), 100, 25)));
        assembleCase("deletion-at-end", TEXT, both(same, tile(replace(238, 258, ""), 100, 25)));
        assembleCase("insertion-beside-snp", TEXT, tile(replace(130, 131, "GTTACCA"), 100, 30));
        assembleCase("insertion-for-deletion", TEXT, tile(replace(120, 132, "GGTTTTGGA"), 100, 30));
        assembleCase("adjacent-snps", TEXT, tile(swap(TEXT, 129, 130, 131), 100, 30));
        assembleCase("large-deletion", TEXT, both(tile(replace(60, 200, ""), 100, 10), same));
        assembleCase("large-insertion", TEXT, both(tile(replace(130, 130, "TTCCGAGCAATGTACGCTAATCGGTATCAGCGCTTGAGAACTTCATGGCAAGTCATACGC"), 100, 10), same));
        assembleCase("nested-deletions", TEXT, both(tile(replace(110, 150, ""), 100, 20), tile(replace(122, 131, ""), 100, 20)));
        assembleCase("deletion-across-border", TEXT, both(tile(replace(85, 110, ""), 100, 20), same));
        assembleCase("event-in-padding", TEXT, both(tile(swap(TEXT, 60), 100, 20), same));
        assembleCase("long-tandem-repeat", from(0, 100) + "CAG".repeat(14) + from(100, 200), tile(from(0, 100) + "CAG".repeat(11) + from(100, 200), 120, 25));
        assembleCase("equal-after-trimming", TEXT, both(tile(swap(TEXT, 15, 130), 120, 20), both(tile(swap(TEXT, 130), 120, 20), tile(swap(TEXT, 15), 120, 20))));
        assembleCase("as-short-as-kmer", from(0, 25), tile(from(0, 25), 25, 25));
        assembleCase("shorter-than-kmers", from(0, 9), List.of(from(0, 9)));
        assembleCase("shorter-than-30", from(0, 29), tile(swap(from(0, 29), 14), 29, 29));
    }

    static void assembleWindows(String fasta, String bam, int distance) throws Exception {
        ReferenceSequenceFile reference = ReferenceSequenceFileFactory.getReferenceSequenceFile(new File(fasta));
        SamReader reader = SamReaderFactory.makeDefault().open(new File(bam));
        SAMFileHeader header = reader.getFileHeader();
        for (SAMSequenceRecord contig : header.getSequenceDictionary().getSequences()) {
            byte[] text = reference.getSequence(contig.getSequenceName()).getBases();
            for (int i = 0; i < text.length; i++) {
                text[i] = (byte) "ACGTN".charAt(Math.max(0, "ACGTN".indexOf(Character.toUpperCase(text[i])) < 0 ? 4 : "ACGTN".indexOf(Character.toUpperCase(text[i]))));
            }
            for (int start = 1; start <= text.length; start += distance) {
                int end = Math.min(text.length, start + distance - 1);
                int paddedStart = Math.max(1, start - 100), paddedEnd = Math.min(text.length, end + 100);
                List<GATKRead> reads = new ArrayList<>();
                SAMRecordIterator records = reader.queryOverlapping(contig.getSequenceName(), paddedStart, paddedEnd);
                while (records.hasNext()) {
                    SAMRecord record = records.next();
                    if (record.getReadUnmappedFlag() || record.getDuplicateReadFlag() || record.getMappingQuality() < 20) {
                        continue;
                    }
                    GATKRead read = ReadClipper.revertSoftClippedBases(new SAMRecordToGATKReadAdapter(record));
                    read = ReadClipper.hardClipToRegion(read, paddedStart, paddedEnd);
                    if (!read.isEmpty() && read.overlaps(new SimpleInterval(contig.getSequenceName(), paddedStart, paddedEnd))) {
                        reads.add(read);
                    }
                }
                records.close();
                if (!reads.isEmpty()) {
                    assemble(contig.getSequenceName() + ":" + start, header, text, start, end, reads, false);
                }
            }
        }
    }

    static void assemble(String name, SAMFileHeader header, byte[] text, int start, int end, List<GATKRead> reads, boolean paths) {
        String contig = reads.isEmpty() ? CONTIG : reads.get(0).getContig();
        SimpleInterval span = new SimpleInterval(contig, start, end);
        SimpleInterval padded = new SimpleInterval(contig, Math.max(1, start - 100), Math.min(text.length, end + 100));
        SimpleInterval outer = new SimpleInterval(contig, Math.max(1, padded.getStart() - 500), Math.min(text.length, padded.getEnd() + 500));
        byte[] full = Arrays.copyOfRange(text, outer.getStart() - 1, outer.getEnd());
        byte[] inner = Arrays.copyOfRange(text, padded.getStart() - 1, padded.getEnd());
        out.println("region " + name + " " + outer.getStart() + " " + start + " " + end + " " + padded.getStart() + " " + padded.getEnd()
                + " " + new String(full));
        AssemblyRegion region = new AssemblyRegion(span, padded, true, header);
        List<GATKRead> clipped = new ArrayList<>();
        String last = "";
        int count = 0;
        for (GATKRead read : reads) {
            region.add(read);
            GATKRead copy = ReadClipper.hardClipSoftClippedBases(read);
            clipped.add(copy);
            String line = "read " + header.getReadGroup(read.getReadGroup()).getSample() + " " + copy.getBasesString() + " " + letters(copy);
            if (count > 0 && !line.equals(last)) {
                out.println(last + " " + count);
                count = 0;
            }
            last = line;
            count += copy.getLength() > 0 ? 1 : 0;
        }
        if (count > 0) {
            out.println(last + " " + count);
        }
        ReadThreadingAssembler assembler = ARGUMENTS.createReadThreadingAssembler();
        if (paths) {
            printGraphs(assembler, header, clipped, reference(inner, padded, outer));
        }
        try {
            AssemblyResultSet result = assembler.runLocalAssembly(region, reference(inner, padded, outer), full, outer, null, header, ALIGNER, null,
                    ARGUMENTS.getDanglingEndSWParameters(), ARGUMENTS.getHaplotypeToReferenceSWParameters());
            printHaplotypes("haplotype", result);
            for (Event event : result.getVariationEvents(0)) {
                print(event);
            }
            printTrimmed(result, region, contig, text);
        } catch (RuntimeException error) {
            out.println("error " + error.getClass().getSimpleName() + " " + error.getMessage());
        }
        out.println("end");
    }

    /** Returns the qualities as in SAM, or one letter if all are equal. */
    static String letters(GATKRead read) {
        StringBuilder letters = new StringBuilder();
        for (byte quality : read.getBaseQualities()) {
            letters.append((char) (quality + 33));
        }
        return letters.chars().distinct().count() == 1 ? letters.substring(0, 1) : letters.toString();
    }

    static Haplotype reference(byte[] bases, SimpleInterval padded, SimpleInterval outer) {
        Haplotype reference = new Haplotype(bases, true);
        reference.setAlignmentStartHapwrtRef(padded.getStart() - outer.getStart());
        reference.setGenomeLocation(padded);
        htsjdk.samtools.Cigar cigar = new htsjdk.samtools.Cigar();
        cigar.add(new CigarElement(bases.length, CigarOperator.M));
        reference.setCigar(cigar);
        return reference;
    }

    static void printGraphs(ReadThreadingAssembler assembler, SAMFileHeader header, List<GATKRead> reads, Haplotype reference) {
        boolean found = false;
        StringBuilder lines = new StringBuilder();
        for (int k : new int[] {10, 25, 35, 45, 55, 65, 75, 85}) {
            if (k > 25 && found) {
                break;
            }
            try {
                Method create = ReadThreadingAssembler.class.getDeclaredMethod("createGraph", Iterable.class, Haplotype.class, int.class, boolean.class,
                        boolean.class, SAMFileHeader.class, SmithWatermanAligner.class, org.broadinstitute.gatk.nativebindings.smithwaterman.SWParameters.class);
                create.setAccessible(true);
                AssemblyResult result = (AssemblyResult) create.invoke(assembler, reads, reference, k, k == 85, k == 85, header, ALIGNER,
                        ARGUMENTS.getDanglingEndSWParameters());
                if (result == null) {
                    continue;
                }
                found = true;
                lines.append("graph " + k + " " + result.getStatus() + "\n");
                if (result.getStatus() == AssemblyResult.Status.ASSEMBLED_SOME_VARIATION) {
                    SeqGraph graph = result.getSeqGraph();
                    for (KBestHaplotype<SeqVertex, BaseEdge> path : new GraphBasedKBestHaplotypeFinder<SeqVertex, BaseEdge>(graph, graph.getReferenceSourceVertex(),
                            graph.getReferenceSinkVertex()).findBestHaplotypes(128)) {
                        lines.append("path " + path.getBases().length + " " + Long.toHexString(hash(path.getBases())) + " "
                                + Long.toHexString(Double.doubleToLongBits(path.score())) + "\n");
                    }
                }
            } catch (InvocationTargetException | RuntimeException error) {
                return; // runLocalAssembly throws the same.
            } catch (ReflectiveOperationException error) {
                throw new IllegalStateException(error);
            }
        }
        out.print(lines);
    }

    /** FNV-1a. */
    static long hash(byte[] bases) {
        long hash = 0xcbf29ce484222325L;
        for (byte base : bases) {
            hash = (hash ^ base) * 0x100000001b3L;
        }
        return hash;
    }

    static void printHaplotypes(String word, AssemblyResultSet set) {
        for (Haplotype haplotype : set.getHaplotypeList()) {
            out.println(word + " " + haplotype.getBaseString() + " " + haplotype.getCigar() + " " + haplotype.getAlignmentStartHapwrtRef() + " "
                    + Long.toHexString(Double.doubleToLongBits(haplotype.getScore())) + " " + haplotype.getKmerSize() + " " + haplotype.isReference());
        }
    }

    static void print(Event event) {
        out.println("event " + event.getStart() + " " + event.refAllele().getBaseString() + " " + event.altAllele().getBaseString());
    }

    static void printTrimmed(AssemblyResultSet result, AssemblyRegion region, String contig, byte[] text) {
        SimpleInterval padded = region.getPaddedSpan();
        byte[] window = Arrays.copyOfRange(text, padded.getStart() - 1, padded.getEnd());
        SAMSequenceDictionary dictionary = region.getHeader().getSequenceDictionary();
        ReferenceContext context = new ReferenceContext(ReferenceDataSource.of(new ReferenceBases(window, padded), dictionary), padded);
        AssemblyRegionTrimmer trimmer = new AssemblyRegionTrimmer(ARGUMENTS_OF_REGIONS, dictionary);
        AssemblyRegionTrimmer.Result trimmed = trimmer.trim(region, result.getVariationEvents(0), context);
        if (!trimmed.isVariationPresent()) {
            out.println("trimmed none");
            return;
        }
        AssemblyRegion part = trimmed.getVariantRegion();
        out.println("trimmed " + part.getSpan().getStart() + " " + part.getSpan().getEnd() + " " + part.getPaddedSpan().getStart() + " " + part.getPaddedSpan().getEnd());
        AssemblyResultSet set = result.trimTo(part);
        printHaplotypes("trimmed-haplotype", set);
        out.println("variation " + set.isVariationPresent());
        for (Event event : set.getVariationEvents(0)) {
            print(event);
        }
        for (Event event : set.getVariationEvents(0)) {
            for (int position : new int[] {event.getStart(), event.getEnd()}) {
                for (Haplotype haplotype : set.getHaplotypeList()) {
                    List<Event> events = haplotype.getEventMap().getOverlappingEvents(position);
                    out.print(events.isEmpty() ? "" : "overlap " + position);
                    for (Event overlapping : events) {
                        out.print(" " + overlapping.getStart() + "," + overlapping.refAllele().getBaseString() + "," + overlapping.altAllele().getBaseString());
                    }
                    out.print(events.isEmpty() ? "" : "\n");
                }
            }
        }
    }

    static final org.broadinstitute.hellbender.engine.spark.AssemblyRegionArgumentCollection ARGUMENTS_OF_REGIONS =
            new org.broadinstitute.hellbender.engine.spark.AssemblyRegionArgumentCollection();

    public static void main(String[] arguments) throws Exception {
        out = new PrintStream(new BufferedOutputStream(System.out, 1 << 16));
        if (arguments.length == 0) {
            assembleCases();
        } else if (arguments.length == 3) {
            assembleWindows(arguments[0], arguments[1], Integer.parseInt(arguments[2]));
        } else {
            long first = Long.parseLong(arguments[0]);
            for (long seed = first; seed < first + Long.parseLong(arguments[1]); seed++) {
                assembleRandom(seed);
            }
        }
        out.flush();
        System.exit(0);
    }
}
