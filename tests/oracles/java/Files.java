import htsjdk.samtools.SAMFileHeader;
import htsjdk.samtools.SAMFileWriter;
import htsjdk.samtools.SAMFileWriterFactory;
import htsjdk.samtools.SAMReadGroupRecord;
import htsjdk.samtools.SAMRecord;
import htsjdk.samtools.SAMSequenceDictionary;
import htsjdk.samtools.SAMSequenceRecord;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.broadinstitute.hellbender.Main;
import org.broadinstitute.hellbender.utils.Utils;

/**
 * Simulates reads of a small genome, and prints the files that HaplotypeCaller writes in each mode, after the name of the
 * mode and without its command line. Arguments: seed, number of bases, directory of temporary files.
 */
public class Files {
    static Random random;

    static int below(int bound) {
        return random.nextInt(bound);
    }

    /** A haplotype: its bases, and the position of each in the reference, or -1 if it is inserted. */
    record Haplotype(StringBuilder bases, List<Integer> positions) {}

    static Haplotype haplotype(String reference, List<int[]> variants, int side) {
        Haplotype haplotype = new Haplotype(new StringBuilder(), new ArrayList<>());
        int next = 0;
        for (int[] variant : variants) {
            for (; next <= variant[0]; next++) {
                haplotype.bases.append(reference.charAt(next));
                haplotype.positions.add(next);
            }
            int kind = variant[1 + side];
            if (kind < 4) {
                haplotype.bases.setCharAt(haplotype.bases.length() - 1, "ACGT".charAt(kind));
            } else if (kind < 6) {
                for (int i = 0; i < variant[3]; i++) {
                    haplotype.bases.append("ACGT".charAt((kind + i) % 4));
                    haplotype.positions.add(-1);
                }
            } else if (kind < 8) {
                next += variant[3];
            }
        }
        for (; next < reference.length(); next++) {
            haplotype.bases.append(reference.charAt(next));
            haplotype.positions.add(next);
        }
        return haplotype;
    }

    static List<int[]> variants(int length) {
        List<int[]> variants = new ArrayList<>();
        for (int at = 50; at < length - 80; at += 30 + below(300)) {
            int kind = below(5) == 0 ? 4 + below(4) : below(4), other = below(3) == 0 ? kind : below(4) == 0 ? below(8) : 9;
            variants.add(below(2) == 0 ? new int[] {at, kind, other, 1 + below(12)} : new int[] {at, other, kind, 1 + below(12)});
        }
        return variants;
    }

    static SAMRecord read(SAMFileHeader header, Haplotype haplotype, int from, int name, int contig) {
        int to = Math.min(haplotype.bases.length(), from + 100);
        while (haplotype.positions.get(from) < 0) {
            from++;
        }
        while (haplotype.positions.get(to - 1) < 0) {
            to--;
        }
        StringBuilder bases = new StringBuilder(haplotype.bases.substring(from, to)), operators = new StringBuilder();
        byte[] qualities = new byte[to - from];
        int last = haplotype.positions.get(from) - 1;
        for (int i = from; i < to; i++) {
            int position = haplotype.positions.get(i);
            if (position >= 0) {
                operators.append("D".repeat(position - last - 1));
                last = position;
            }
            operators.append(position < 0 ? 'I' : 'M');
            qualities[i - from] = (byte) (below(10) == 0 ? 2 + below(20) : 25 + below(15));
            if (below(1000) < Math.pow(10, -qualities[i - from] / 10.0) * 1000) {
                bases.setCharAt(i - from, "ACGT".charAt(below(4)));
            }
        }
        SAMRecord record = new SAMRecord(header);
        record.setReadName("r" + name);
        record.setReferenceIndex(contig);
        record.setAlignmentStart(haplotype.positions.get(from) + 1);
        record.setCigarString(runs(operators));
        record.setReadString(bases.toString());
        record.setBaseQualities(qualities);
        record.setMappingQuality(below(10) == 0 ? below(60) : 60);
        record.setReadNegativeStrandFlag(random.nextBoolean());
        record.setAttribute("RG", "g");
        return record;
    }

    static String runs(CharSequence operators) {
        StringBuilder cigar = new StringBuilder();
        for (int i = 0, start = 0; i < operators.length(); i++) {
            if (i + 1 == operators.length() || operators.charAt(i + 1) != operators.charAt(start)) {
                cigar.append(i + 1 - start).append(operators.charAt(start));
                start = i + 1;
            }
        }
        return cigar.toString();
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        random = new Random(Long.parseLong(arguments[0]));
        int length = Integer.parseInt(arguments[1]);
        Path directory = Path.of(arguments[2]);
        SAMFileHeader header = new SAMFileHeader(new SAMSequenceDictionary(List.of(new SAMSequenceRecord("one", length), new SAMSequenceRecord("two", length / 4))));
        SAMReadGroupRecord group = new SAMReadGroupRecord("g");
        group.setSample("sample");
        header.addReadGroup(group);
        header.setSortOrder(SAMFileHeader.SortOrder.coordinate);
        StringBuilder fasta = new StringBuilder(), index = new StringBuilder();
        String bam = directory.resolve("in.bam").toString(), file = directory.resolve("ref.fasta").toString();
        try (SAMFileWriter writer = new SAMFileWriterFactory().setCreateIndex(true).makeBAMWriter(header, false, Path.of(bam).toFile())) {
            for (SAMSequenceRecord contig : header.getSequenceDictionary().getSequences()) {
                StringBuilder text = new StringBuilder();
                while (text.length() < contig.getSequenceLength()) {
                    text.append(String.valueOf("ACGT".charAt(below(4))).repeat(below(40) == 0 ? 1 + below(14) : 1));
                }
                text.setLength(contig.getSequenceLength());
                fasta.append(">").append(contig.getSequenceName()).append("\n");
                index.append(contig.getSequenceName()).append("\t").append(text.length()).append("\t").append(fasta.length())
                        .append("\t").append(text.length()).append("\t").append(text.length() + 1).append("\n");
                fasta.append(text).append("\n");
                List<int[]> variants = variants(text.length());
                Haplotype[] haplotypes = {haplotype(text.toString(), variants, 0), haplotype(text.toString(), variants, 1)};
                for (int i = 0; i < text.length() * (contig.getSequenceIndex() == 0 ? 30 : 4) / 100; i++) {
                    Haplotype haplotype = haplotypes[below(2)];
                    int last = haplotype.bases.length() - 100, around = below(30) == 0 ? last / 2 : below(last);
                    writer.addAlignment(read(header, haplotype, around, i, contig.getSequenceIndex()));
                }
            }
        }
        java.nio.file.Files.writeString(Path.of(file), fasta);
        java.nio.file.Files.writeString(Path.of(file + ".fai"), index);
        try (java.io.Writer writer = new java.io.FileWriter(directory.resolve("ref.dict").toString())) {
            new htsjdk.samtools.SAMTextHeaderCodec().encode(writer, new SAMFileHeader(header.getSequenceDictionary()));
        }
        for (String mode : List.of("NONE", "BP_RESOLUTION", "GVCF")) {
            String output = directory.resolve(mode + ".vcf").toString();
            Utils.resetRandomGenerator(); // as in a process of its own
            new Main().instanceMain(new String[] {"HaplotypeCaller", "-R", file, "-I", bam, "-O", output, "-ERC", mode, "--QUIET", "--verbosity", "ERROR"});
            out.println("mode " + mode);
            for (String line : java.nio.file.Files.readAllLines(Path.of(output))) {
                if (!line.startsWith("##GATKCommandLine=")) {
                    out.println(line);
                }
            }
        }
        out.flush();
    }
}
