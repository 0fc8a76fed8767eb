import htsjdk.samtools.Cigar;
import htsjdk.samtools.CigarElement;
import htsjdk.samtools.CigarOperator;
import htsjdk.samtools.SAMFileHeader;
import htsjdk.samtools.SAMReadGroupRecord;
import htsjdk.samtools.SAMRecord;
import htsjdk.samtools.SAMSequenceDictionary;
import htsjdk.samtools.SAMSequenceRecord;
import htsjdk.samtools.SamReader;
import htsjdk.samtools.SamReaderFactory;
import java.io.BufferedOutputStream;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.broadinstitute.hellbender.engine.AssemblyRegion;
import org.broadinstitute.hellbender.engine.filters.ReadFilterLibrary;
import org.broadinstitute.hellbender.engine.filters.WellformedReadFilter;
import org.broadinstitute.hellbender.tools.walkers.haplotypecaller.AssemblyBasedCallerUtils;
import org.broadinstitute.hellbender.utils.SimpleInterval;
import org.broadinstitute.hellbender.utils.genotyper.IndexedSampleList;
import org.broadinstitute.hellbender.utils.genotyper.SampleList;
import org.broadinstitute.hellbender.utils.read.AlignmentUtils;
import org.broadinstitute.hellbender.utils.read.CigarUtils;
import org.broadinstitute.hellbender.utils.read.GATKRead;
import org.broadinstitute.hellbender.utils.read.ReadUtils;
import org.broadinstitute.hellbender.utils.read.SAMRecordToGATKReadAdapter;

/**
 * Prints what GATK makes of the reads of regions: for each region a line "region" with its padded span, a line "in" for
 * each read, then a line "out" for each finalized read, a line "trim" with a smaller span, and a line "out" for each read
 * that was clipped to it. A line "error" stands for any exception. Arguments: the first seed and the number of regions;
 * then perhaps a sorted and indexed BAM file. Without a file, the reads are random, with every oddity of CIGARs and pairs.
 * A first seed of 0 adds cases that are written by hand.
 */
public class Finalize {
    static final int CONTIG_LENGTH = 700;
    static long state;
    static PrintStream out;

    /** SplitMix64. */
    static long next() {
        long z = state += 0x9e3779b97f4a7c15L;
        z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
        z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
        return z ^ z >>> 31;
    }

    /** Draws a number from 0 to below the bound. */
    static int below(int bound) {
        return (int) ((next() >>> 1) % bound);
    }

    static void add(List<CigarElement> elements, CigarOperator operator, int longest) {
        elements.add(new CigarElement(1 + below(longest), operator));
    }

    /** Draws a CIGAR that GATK's filters accept. */
    static Cigar cigar() {
        CigarOperator[] aligned = {CigarOperator.M, CigarOperator.M, CigarOperator.M, CigarOperator.M, CigarOperator.EQ, CigarOperator.X};
        CigarOperator[] gaps = {CigarOperator.I, CigarOperator.D, CigarOperator.I, CigarOperator.D, CigarOperator.P};
        while (true) {
            List<CigarElement> elements = new ArrayList<>();
            if (below(6) == 0) add(elements, CigarOperator.H, 5);
            if (below(3) == 0) add(elements, CigarOperator.S, below(3) == 0 ? 40 : 10);
            if (below(12) == 0) add(elements, gaps[below(5)], 4);
            add(elements, aligned[below(6)], below(2) == 0 ? 60 : 8);
            while (below(3) == 0) {
                do add(elements, gaps[below(5)], below(8) == 0 ? 60 : 6); while (below(8) == 0);
                if (below(8) != 0) add(elements, aligned[below(6)], below(2) == 0 ? 40 : 6);
            }
            if (below(3) == 0) add(elements, CigarOperator.S, below(3) == 0 ? 40 : 10);
            if (below(6) == 0) add(elements, CigarOperator.H, 5);
            Cigar cigar = new Cigar(elements);
            if (CigarUtils.isGood(cigar) && cigar.getReferenceLength() > 0) return cigar;
        }
    }

    static String text(byte[] values) {
        StringBuilder text = new StringBuilder();
        for (byte value : values) text.append((char) (value + '!'));
        return text.toString();
    }

    /** Draws qualities, low ones at the ends more often than between. */
    static byte[] qualities(int length) {
        byte[] qualities = new byte[length];
        int kind = below(8);
        for (int i = 0; i < length; i++)
            qualities[i] = (byte) (kind == 0 ? below(94) : kind == 1 && below(50) != 0 ? below(11) : below(20) == 0 ? below(12) : 12 + below(30));
        for (int i = below(3) == 0 ? below(length + 1) : 0; i > 0; i--) qualities[i - 1] = (byte) below(11);
        for (int i = below(3) == 0 ? below(length + 1) : 0; i > 0; i--) qualities[length - i] = (byte) below(11);
        return qualities;
    }

    static SAMRecord read(SAMFileHeader header, String name, byte[] contig, int start) {
        Cigar cigar = cigar();
        SAMRecord read = new SAMRecord(header);
        read.setReadName(name);
        read.setReferenceIndex(0);
        read.setCigar(cigar);
        start = Math.max(1, Math.min(start, CONTIG_LENGTH + 1 - cigar.getReferenceLength()));
        read.setAlignmentStart(start);
        byte[] bases = new byte[cigar.getReadLength()];
        int i = 0, j = start - 1;
        for (CigarElement element : cigar)
            for (int k = 0; k < element.getLength(); k++) {
                CigarOperator operator = element.getOperator();
                if (operator.consumesReadBases()) bases[i++] = below(25) == 0 || j >= contig.length ? (byte) "ACGTN".charAt(below(5)) : contig[j];
                if (operator.consumesReferenceBases()) j++;
            }
        read.setReadBases(bases);
        read.setBaseQualities(qualities(bases.length));
        read.setMappingQuality(below(4) == 0 ? below(61) : 60);
        read.setAttribute("RG", below(10) == 0 ? "b" : "a");
        if (below(15) == 0) read.setAttribute("BI", text(qualities(bases.length)));
        if (below(15) == 0) read.setAttribute("BD", text(qualities(bases.length)));
        return read;
    }

    static List<SAMRecord> draw(SAMFileHeader header, SimpleInterval span) {
        byte[] contig = new byte[CONTIG_LENGTH];
        for (int i = 0; i < CONTIG_LENGTH; i++) contig[i] = (byte) "ACGT".charAt(below(4));
        List<SAMRecord> reads = new ArrayList<>();
        for (int count = below(10); count >= 0; count--) {
            String name = "r" + below(6) + (below(4) == 0 ? "/x" : "");
            int start = span.getStart() - 60 + below(span.size() + 100);
            SAMRecord read = read(header, name, contig, start);
            reads.add(read);
            if (below(5) == 0) continue;
            SAMRecord mate = read(header, below(20) == 0 ? "r0" : name, contig, below(6) == 0 ? start : start - 10 + below(80));
            int end = Math.max(read.getAlignmentEnd(), mate.getAlignmentEnd());
            int length = below(4) == 0 ? below(200) - 100 : end - read.getAlignmentStart() + 1 - (below(4) == 0 ? below(20) : 0);
            for (SAMRecord one : List.of(read, mate)) {
                SAMRecord other = one == read ? mate : read;
                one.setReadPairedFlag(below(30) != 0);
                one.setReadNegativeStrandFlag(one == mate ^ below(12) == 0);
                if (one.getReadPairedFlag()) {
                    one.setMateNegativeStrandFlag(other == mate ^ below(12) == 0);
                    one.setProperPairFlag(below(3) != 0);
                    one.setFirstOfPairFlag(one == read);
                    one.setSecondOfPairFlag(one == mate);
                    one.setMateUnmappedFlag(below(25) == 0);
                    one.setMateReferenceIndex(below(20) == 0 ? below(3) - 1 : 0);
                    if (below(40) != 0 && one.getMateReferenceIndex() >= 0) one.setMateAlignmentStart(below(15) == 0 ? 1 + below(CONTIG_LENGTH) : other.getAlignmentStart());
                }
                one.setInferredInsertSize(one == read ? length : below(20) == 0 ? length : -length);
                one.setSupplementaryAlignmentFlag(below(20) == 0);
            }
            reads.add(mate);
        }
        if (below(8) == 0) reads.add(reads.get(0).deepCopy());
        return reads;
    }

    static void print(String kind, GATKRead read, SAMFileHeader header) {
        SAMRecord record = read.convertToSAMRecord(header);
        String insertions = record.getStringAttribute("BI"), deletions = record.getStringAttribute("BD");
        out.print(kind + "\t" + record.getReadName() + "\t" + record.getFlags() + "\t" + record.getMappingQuality() + "\t"
            + record.getReferenceIndex() + "\t" + record.getAlignmentStart() + "\t" + record.getCigarString() + "\t"
            + record.getMateReferenceIndex() + "\t" + record.getMateAlignmentStart() + "\t" + record.getInferredInsertSize() + "\t"
            + ReadUtils.getSampleName(read, header) + "\t" + record.getReadString() + "\t" + text(record.getBaseQualities()) + "\t"
            + (insertions == null ? "*" : insertions) + "\t" + (deletions == null ? "*" : deletions));
        boolean passes = AlignmentUtils.unclippedReadLength(read) >= 10 && read.getMappingQuality() >= 20
            && ReadFilterLibrary.MATE_ON_SAME_CONTIG_OR_NO_MAPPED_MATE.test(read);
        out.println("\t" + passes);
    }

    static void finalizeReads(SAMFileHeader header, SimpleInterval span, SimpleInterval padded, List<GATKRead> reads, boolean clipped, String name) {
        SampleList samples = new IndexedSampleList(ReadUtils.getSamplesFromHeader(header));
        AssemblyRegion region = new AssemblyRegion(span, padded, true, header);
        out.println("region\t" + padded.getStart() + "\t" + padded.getEnd() + "\t" + clipped + "\t" + name);
        for (GATKRead read : reads) {
            region.add(read);
            print("in", read, header);
        }
        try {
            AssemblyBasedCallerUtils.finalizeRegion(region, false, clipped, (byte) 9, header, samples, true, false, false, false);
            region.getReads().forEach(read -> print("out", read, header));
            SimpleInterval smaller = new SimpleInterval(span.getContig(), span.getStart() + span.size() / 4, span.getStart() + span.size() / 2);
            AssemblyRegion trimmed = region.trim(smaller, smaller.expandWithinContig(20, header.getSequenceDictionary()));
            out.println("trim\t" + trimmed.getPaddedSpan().getStart() + "\t" + trimmed.getPaddedSpan().getEnd());
            trimmed.getReads().forEach(read -> print("out", read, header));
        } catch (RuntimeException error) {
            out.println("error");
        }
    }

    static SAMFileHeader header() {
        SAMFileHeader header = new SAMFileHeader(new SAMSequenceDictionary(List.of(new SAMSequenceRecord("c1", CONTIG_LENGTH), new SAMSequenceRecord("c2", CONTIG_LENGTH))));
        for (String id : List.of("a", "b")) {
            SAMReadGroupRecord group = new SAMReadGroupRecord(id);
            group.setSample(id);
            header.addReadGroup(group);
        }
        return header;
    }

    static void random(long seed) {
        state = seed << 20;
        SAMFileHeader header = header();
        int start = below(4) == 0 ? 1 + below(30) : 1 + below(CONTIG_LENGTH - 40);
        SimpleInterval span = new SimpleInterval("c1", start, Math.min(CONTIG_LENGTH, start + below(120)));
        SimpleInterval padded = span.expandWithinContig(below(3) == 0 ? 100 : below(60), header.getSequenceDictionary());
        List<GATKRead> reads = new ArrayList<>();
        draw(header, padded).forEach(read -> reads.add(new SAMRecordToGATKReadAdapter(read)));
        reads.removeIf(read -> !read.overlaps(padded));
        reads.sort(Comparator.comparingInt(GATKRead::getStart));
        finalizeReads(header, span, padded, reads, below(8) == 0, "random " + seed);
    }

    static void fromFile(SamReader file, long seed) {
        state = seed << 20;
        SAMFileHeader header = file.getFileHeader();
        SAMSequenceRecord contig = header.getSequenceDictionary().getSequence(below(header.getSequenceDictionary().size()));
        int start = 1 + below(contig.getSequenceLength());
        SimpleInterval span = new SimpleInterval(contig.getSequenceName(), start, Math.min(contig.getSequenceLength(), start + below(300)));
        SimpleInterval padded = span.expandWithinContig(100, header.getSequenceDictionary());
        WellformedReadFilter filter = new WellformedReadFilter(header);
        List<GATKRead> reads = new ArrayList<>();
        try (var records = file.queryOverlapping(padded.getContig(), padded.getStart(), padded.getEnd())) {
            while (records.hasNext()) {
                SAMRecord record = records.next();
                GATKRead read = new SAMRecordToGATKReadAdapter(record);
                if (!read.isUnmapped() && filter.test(read) && CigarUtils.isGood(read.getCigar()) && read.overlaps(padded)) reads.add(read);
            }
        }
        if (!reads.isEmpty()) finalizeReads(header, span, padded, reads, false, "of a file");
    }

    /** Finalizes reads that are written as "name flags mapq start cigar mate's contig, mate's start, TLEN", and perhaps
     * qualities or bases "q3=2", "b0=A", "BI" of the read. The span has no padding. */
    static void edge(String name, int start, int end, String... lines) {
        state = 1;
        byte[] contig = new byte[CONTIG_LENGTH];
        for (int i = 0; i < CONTIG_LENGTH; i++) contig[i] = (byte) "ACGT".charAt(below(4));
        SAMFileHeader header = header();
        SimpleInterval span = new SimpleInterval("c1", start, end);
        List<GATKRead> reads = new ArrayList<>();
        for (String line : lines) {
            String[] words = line.split(" ");
            SAMRecord read = new SAMRecord(header);
            read.setReadName(words[0]);
            read.setFlags(Integer.parseInt(words[1]));
            read.setMappingQuality(Integer.parseInt(words[2]));
            read.setReferenceIndex(0);
            read.setAlignmentStart(Integer.parseInt(words[3]));
            read.setCigarString(words[4]);
            read.setMateReferenceIndex(Integer.parseInt(words[5]));
            read.setMateAlignmentStart(Integer.parseInt(words[6]));
            read.setInferredInsertSize(Integer.parseInt(words[7]));
            read.setAttribute("RG", "a");
            byte[] bases = new byte[read.getCigar().getReadLength()], qualities = new byte[bases.length];
            for (int i = 0; i < bases.length; i++) {
                bases[i] = contig[(read.getAlignmentStart() + i) % CONTIG_LENGTH];
                qualities[i] = 30;
            }
            for (int i = 8; i < words.length; i++) {
                if (words[i].startsWith("B")) {
                    read.setAttribute(words[i], "F".repeat(bases.length));
                    continue;
                }
                String[] parts = words[i].substring(1).split("=");
                int index = Integer.parseInt(parts[0]);
                if (words[i].charAt(0) == 'b') bases[index] = (byte) parts[1].charAt(0);
                else qualities[index] = Byte.parseByte(parts[1]);
            }
            read.setReadBases(bases);
            read.setBaseQualities(qualities);
            reads.add(new SAMRecordToGATKReadAdapter(read));
        }
        finalizeReads(header, span, span, reads, false, name);
    }

    static void edges() {
        edge("soft clips, hard clips, padding, = and X", 50, 400, "a 0 60 60 5H3S20=2X4P10M4S2H -1 0 0", "b 99 60 61 5H3S20=2X4P10M4S2H 0 150 150",
            "c 0 60 62 5P5D10M -1 0 0", "d 99 60 63 3S5I10M2P3I7M 0 150 150", "e 99 60 64 10I10M 0 150 150", "f 99 60 65 20M5D5M10I 0 150 150");
        edge("BI or BD only", 50, 400, "a 0 60 60 5S20M -1 0 0 BI", "b 0 60 61 20M5S -1 0 0 BD", "c 0 60 62 20M -1 0 0 BD");
        edge("soft clips before the first position", 1, 200, "a 99 60 1 10S20M 0 100 150", "b 99 60 3 10S20M 0 100 150",
            "c 99 60 10 10S20M 0 100 150", "d 99 60 11 10S20M 0 100 150", "e 0 60 11 10S20M -1 0 0", "f 99 60 12 3H15S5I2M1H 0 100 150");
        edge("soft clips beyond the last position", 500, 700, "a 147 60 680 21M10S 0 600 -100", "b 147 60 690 5S11M30S 0 600 -100", "c 16 60 691 10M5S -1 0 0");
        edge("low qualities at the ends", 50, 400, "a 0 60 60 4M -1 0 0 q0=9 q1=2 q2=9 q3=0", "b 0 60 61 6M -1 0 0 q0=9 q1=10 q4=9 q5=9",
            "c 0 60 62 2M5D4M2D2M -1 0 0 q0=2 q1=2 q6=5 q7=5", "d 0 60 63 4M -1 0 0 q0=3 q1=3 q2=3", "e 99 60 64 2S2M2S 0 150 150 q0=9 q1=9 q4=9 q5=9");
        edge("adapter at the first and last base", 50, 400, "a 99 60 100 20M 0 100 20", "a 147 60 100 20M 0 100 -20", "b 99 60 101 20M 0 101 19",
            "b 147 60 101 20M 0 101 -19", "c 99 60 102 20M 0 101 1", "d 147 60 103 20M 0 122 -20", "e 147 60 104 20M 0 104 -20",
            "f 147 60 105 20M 0 125 -20", "g 147 60 106 20M 0 126 -20", "h 147 60 107 5S20M 0 105 -20");
        edge("adapter: TLEN of 0, equal strands, wrong sign", 50, 400, "a 99 60 100 20M 0 90 0", "b 65 60 101 20M 0 101 10", "c 113 60 102 20M 0 112 -10",
            "d 99 60 103 20M 0 103 -10", "e 147 60 104 20M 0 114 10", "f 99 60 105 20M 0 95 5", "g 99 60 106 20M 0 106 -1", "h 99 60 107 20M5S 0 101 -6");
        edge("mates that share all bases", 50, 400, "a 99 60 100 10M 0 100 10 q3=15 b5=N", "a 147 60 100 10M 0 100 -10 q4=40");
        edge("a mate within a mate", 50, 400, "a 99 60 100 30M 0 110 30 b12=N", "a 147 60 110 10M 0 100 -30");
        edge("mates beyond each other", 50, 400, "a 147 60 100 20M 0 105 -15", "a 99 60 105 20M 0 100 15");
        edge("mates of equal soft starts", 50, 400, "a 99 60 100 20M 0 103 20 b4=N", "a 147 60 103 3S17M 0 100 -20 b6=N");
        edge("mates with an insertion or a deletion", 50, 400, "a 99 60 100 10M2I20M 0 105 40", "a 147 60 105 25M 0 100 -40", "b 99 60 120 10M5D20M 0 132 60",
            "b 147 60 132 30M 0 120 -60", "c 99 60 150 10M5D20M 0 160 60", "c 147 60 160 3I20M 0 150 -60");
        edge("mates that meet at one base, and that do not", 50, 400, "a 99 60 100 10M 0 109 20", "a 147 60 109 11M 0 100 -20", "b 99 60 120 10M 0 130 20", "b 147 60 130 10M 0 120 -20");
        edge("mates of other contigs, unmapped mates, single reads", 50, 400, "a 97 60 100 20M 1 100 0", "a 145 60 101 20M 1 100 0", "b 73 60 102 20M 0 102 0",
            "b 73 60 103 20M 0 102 0", "c 0 60 104 20M -1 0 0", "c 0 60 105 20M -1 0 0", "d 99 60 106 20M 0 0 20", "d 147 60 107 20M -1 100 -20");
        edge("three and four reads of one name", 50, 400, "a 99 60 100 20M 0 105 40", "a 2147 60 102 20M 0 105 40", "a 147 60 105 20M 0 100 -40",
            "b 99 60 120 20M 0 122 40", "b 2147 60 121 20M 0 122 40", "b 147 60 122 20M 0 120 -40", "b 2195 60 123 20M 0 120 -40");
        edge("a deletion at a border", 100, 130, "a 0 60 80 20M5D20M -1 0 0", "b 0 60 81 20M60D20M -1 0 0", "c 0 60 90 10M50D20M -1 0 0",
            "d 0 60 95 30M6D20M -1 0 0", "e 0 60 96 34M10D20M -1 0 0", "f 0 60 97 33M3I10M -1 0 0", "g 0 60 98 2M3I40M -1 0 0", "h 0 60 99 1M31D20M -1 0 0");
        edge("reads that touch a border", 100, 130, "a 0 60 81 20M -1 0 0", "b 0 60 82 20M -1 0 0", "c 0 60 130 20M -1 0 0");
        edge("order of equal starts", 50, 400, "b 16 60 100 20M -1 0 0", "b 0 60 100 20M -1 0 0", "a 0 60 100 20M -1 0 0", "a 0 50 100 20M -1 0 0",
            "B 99 60 100 20M 0 300 220", "B 99 60 100 20M 0 200 220", "B 99 60 100 20M 0 200 120", "B 73 60 100 20M 1 200 120", "B 65 60 100 20M 1 300 120", "a 1024 60 100 20M -1 0 0");
        edge("reads that are not used for genotypes", 50, 400, "a 0 60 100 9M -1 0 0", "b 0 60 100 10M -1 0 0", "c 0 60 100 9M1S -1 0 0", "d 0 19 100 20M -1 0 0", "e 0 20 100 20M -1 0 0");
    }

    public static void main(String[] arguments) throws Exception {
        out = new PrintStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16), false);
        long first = Long.parseLong(arguments[0]), count = Long.parseLong(arguments[1]);
        SamReader file = arguments.length > 2 ? SamReaderFactory.makeDefault().open(new File(arguments[2])) : null;
        if (first == 0) edges();
        for (long seed = first; seed < first + count; seed++) {
            if (file == null) random(seed);
            else fromFile(file, seed);
        }
        out.flush();
    }
}
