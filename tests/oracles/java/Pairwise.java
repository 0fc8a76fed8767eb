import htsjdk.samtools.Cigar;
import htsjdk.samtools.CigarElement;
import htsjdk.samtools.CigarOperator;
import java.io.BufferedOutputStream;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.commons.lang3.tuple.Pair;
import org.broadinstitute.gatk.nativebindings.smithwaterman.SWOverhangStrategy;
import org.broadinstitute.gatk.nativebindings.smithwaterman.SWParameters;
import org.broadinstitute.hellbender.utils.IndexRange;
import org.broadinstitute.hellbender.utils.read.AlignmentUtils;
import org.broadinstitute.hellbender.utils.read.CigarBuilder;
import org.broadinstitute.hellbender.utils.read.CigarUtils;
import org.broadinstitute.hellbender.utils.read.ReadUtils;
import org.broadinstitute.hellbender.utils.smithwaterman.SmithWatermanAligner;
import org.broadinstitute.hellbender.utils.smithwaterman.SmithWatermanAlignment;
import org.broadinstitute.hellbender.utils.smithwaterman.SmithWatermanAlignmentConstants;

/**
 * Prints results of GATK's functions on CIGARs and of its Smith-Waterman, one case a line: the name of the function, what
 * it is given, and its result, separated by tabs. "error" stands for any exception. Arguments: the first seed, the number
 * of cases, and the largest length of sequences.
 *
 * With a fourth argument it reads lines "sw ..." from that file instead, aligns them as often as the second argument says,
 * and prints the nanoseconds of each time.
 */
public class Pairwise {
    static long state;

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

    static final CigarOperator[] ANY = CigarOperator.values();
    static final CigarOperator[] ALIGNED = {CigarOperator.M, CigarOperator.M, CigarOperator.M, CigarOperator.EQ, CigarOperator.X};
    static final CigarOperator[] GAPS = {CigarOperator.I, CigarOperator.D, CigarOperator.I, CigarOperator.D, CigarOperator.N,
        CigarOperator.P};

    static CigarOperator draw(CigarOperator[] operators) {
        return operators[below(operators.length)];
    }

    static void add(List<CigarElement> elements, CigarOperator operator, int longest) {
        elements.add(new CigarElement(1 + below(longest), operator));
    }

    /** Draws a CIGAR: of any elements, or with clips at the ends only. */
    static Cigar cigar() {
        List<CigarElement> elements = new ArrayList<>();
        if (below(4) == 0) {
            for (int count = below(7); count >= 0; count--)
                elements.add(new CigarElement(below(5), draw(ANY)));
            return new Cigar(elements);
        }
        int gaps = below(3) == 0 ? GAPS.length : 4;
        if (below(4) == 0) add(elements, CigarOperator.H, 3);
        if (below(2) == 0) add(elements, CigarOperator.S, 6);
        if (below(8) == 0) add(elements, GAPS[below(gaps)], 3);
        add(elements, draw(ALIGNED), 9);
        while (below(3) != 0) {
            do add(elements, GAPS[below(gaps)], 4); while (below(6) == 0);
            if (below(8) != 0) add(elements, draw(ALIGNED), 9);
        }
        if (below(2) == 0) add(elements, CigarOperator.S, 6);
        if (below(4) == 0) add(elements, CigarOperator.H, 3);
        return new Cigar(elements);
    }

    /** Draws a CIGAR without clips or N: that of a haplotype. */
    static Cigar unclipped() {
        List<CigarElement> elements = new ArrayList<>();
        if (below(6) == 0) add(elements, GAPS[below(2)], 3);
        do {
            add(elements, draw(ALIGNED), 9);
            if (below(3) != 0) add(elements, GAPS[below(2)], 4);
        } while (below(3) != 0);
        return new Cigar(elements);
    }

    /** Draws a sequence: of all bases, of two, or repeats of a unit. */
    static byte[] sequence(int length) {
        byte[] bases = new byte[length];
        int kind = below(4);
        int unit = 1 + below(6);
        for (int i = 0; i < length; i++)
            bases[i] = kind == 3 && i >= unit && below(20) != 0 ? bases[i - unit] : (byte) "ACGTN".charAt(below(kind == 0 ? 2 : kind == 1 && below(50) == 0 ? 5 : 4));
        return bases;
    }

    /** Returns a copy with changed, inserted and deleted bases. */
    static byte[] change(byte[] bases, int rate) {
        StringBuilder changed = new StringBuilder();
        for (int i = 0; i < bases.length; i++) {
            char base = (char) bases[i];
            switch (below(rate)) {
                case 0 -> changed.append("ACGT".charAt(below(4)));
                case 1 -> { if (below(2) == 0) i += below(8); }
                case 2 -> {
                    changed.append(base);
                    if (below(2) == 0)
                        for (int count = below(8); count > 0; count--) changed.append(below(2) == 0 ? base : "ACGT".charAt(below(4)));
                }
                default -> changed.append(base);
            }
        }
        return changed.isEmpty() ? new byte[] {'C'} : changed.toString().getBytes();
    }

    static final SWParameters[] PARAMETERS = {SmithWatermanAlignmentConstants.STANDARD_NGS,
        SmithWatermanAlignmentConstants.NEW_SW_PARAMETERS, SmithWatermanAlignmentConstants.ALIGNMENT_TO_BEST_HAPLOTYPE_SW_PARAMETERS,
        SmithWatermanAlignmentConstants.ORIGINAL_DEFAULT};

    static SWParameters parameters() {
        int kind = below(6);
        if (kind < 4) return PARAMETERS[kind];
        return kind == 4 ? new SWParameters(below(4), -below(4), -below(6), -below(3)) : new SWParameters(below(66000), -below(3000), -below(3000), -below(500));
    }

    static String text(SWParameters p) {
        return p.getMatchValue() + "," + p.getMismatchPenalty() + "," + p.getGapOpenPenalty() + "," + p.getGapExtendPenalty();
    }

    static String text(Cigar cigar) {
        return cigar.getCigarElements().isEmpty() ? "*" : cigar.getCigarElements().stream().map(e -> e.getLength() + "" + e.getOperator()).collect(Collectors.joining());
    }

    static String text(CigarBuilder.Result result) {
        return text(result.getCigar()) + " " + result.getLeadingDeletionBasesRemoved() + " " + result.getTrailingDeletionBasesRemoved();
    }

    interface Call {
        Object get() throws Throwable;
    }

    static PrintStream out;

    static void print(Call call, Object... parts) {
        for (Object part : parts) {
            out.print(part instanceof Cigar cigar ? text(cigar) : part instanceof byte[] bases ? new String(bases) : part instanceof SWParameters p ? text(p) : part.toString());
            out.print('\t');
        }
        try {
            Object result = call.get();
            out.println(result instanceof Cigar cigar ? text(cigar) : result instanceof CigarBuilder.Result r ? text(r) : "" + result);
        } catch (Throwable error) {
            out.println("error");
        }
    }

    static Method hidden(String name, Class<?>... types) throws Exception {
        Method method = AlignmentUtils.class.getDeclaredMethod(name, types);
        method.setAccessible(true);
        return method;
    }

    /** Draws a read of the CIGAR, whose aligned bases mostly equal the reference. */
    static byte[] read(Cigar cigar, byte[] reference, int start) {
        byte[] read = sequence(cigar.getReadLength());
        int i = 0, j = start;
        for (CigarElement element : cigar)
            for (int k = 0; k < element.getLength(); k++) {
                if (element.getOperator().isAlignment() && below(12) != 0 && j < reference.length) read[i] = reference[j];
                if (element.getOperator().consumesReadBases()) i++;
                if (element.getOperator().consumesReferenceBases()) j++;
            }
        return read;
    }

    static void align(SmithWatermanAligner aligner, int longest) {
        byte[] reference = sequence(1 + below(below(8) == 0 ? longest : Math.min(longest, 60)));
        byte[] other = switch (below(8)) {
            case 0 -> sequence(1 + below(Math.min(longest, 80)));
            case 1 -> { int from = below(reference.length); yield Arrays.copyOfRange(reference, from, from + 1 + below(reference.length - from)); }
            default -> { int from = below(reference.length); yield change(below(2) == 0 ? reference : Arrays.copyOfRange(reference, from, from + 1 + below(reference.length - from)), 4 + below(40)); }
        };
        SWParameters p = parameters();
        SWOverhangStrategy strategy = SWOverhangStrategy.values()[below(4)];
        print(() -> {
            SmithWatermanAlignment alignment = aligner.align(reference, other, p, strategy);
            return alignment.getAlignmentOffset() + " " + text(alignment.getCigar());
        }, "sw", reference, other, p, strategy);
    }

    static void haplotype(SmithWatermanAligner aligner, int longest) {
        byte[] reference = sequence(1 + below(longest));
        byte[] haplotype = below(20) == 0 ? sequence(below(longest)) : below(20) == 0 ? reference : change(reference, 5 + below(200));
        SWParameters p = PARAMETERS[below(4)];
        SWOverhangStrategy strategy = below(3) == 0 ? SWOverhangStrategy.INDEL : SWOverhangStrategy.SOFTCLIP;
        print(() -> CigarUtils.calculateCigar(reference, haplotype, aligner, p, strategy), "haplotype", reference, haplotype, p, strategy);
    }

    static void leftAlign(int kind) {
        byte[] reference = sequence(1 + below(60));
        Cigar cigar = below(3) == 0 ? cigar() : unclipped();
        int start = below(8);
        byte[] read = read(cigar, reference, start);
        if (kind == 0) {
            print(() -> AlignmentUtils.leftAlignIndels(cigar, reference, read, start), "left_align", cigar, reference, read, start);
            return;
        }
        int a = below(reference.length + 1), b = a + below(reference.length + 1 - a), c = below(read.length + 1), d = c + below(read.length + 1 - c), max = below(10);
        print(() -> {
            IndexRange first = new IndexRange(a, b), second = new IndexRange(c, d);
            Pair<Integer, Integer> shift = AlignmentUtils.normalizeAlleles(Arrays.asList(reference, read), Arrays.asList(first, second), max, true);
            return shift.getLeft() + " " + shift.getRight() + " " + first.getStart() + " " + first.getEnd() + " " + second.getStart() + " " + second.getEnd();
        }, "normalize", reference, read, a + " " + b + " " + c + " " + d, max);
    }

    static void cigars(int kind) throws Exception {
        Cigar cigar = cigar();
        int length = cigar.getReadLength(), span = cigar.getReferenceLength();
        switch (kind) {
            case 0 -> print(() -> CigarUtils.isGood(cigar), "is_good", cigar);
            case 1, 2 -> print(() -> new CigarBuilder(kind == 1).addAll(cigar).makeAndRecordDeletionsRemovedResult(), kind == 1 ? "build" : "build_keeping", cigar);
            case 3 -> {
                int cut = below(length + 1);
                int start = below(2) == 0 ? 0 : cut, end = start == 0 ? Math.max(1, cut) : length;
                CigarOperator clip = below(3) == 0 ? CigarOperator.S : CigarOperator.H;
                if (start < end) print(() -> CigarUtils.clipCigar(cigar, start, end, clip), "clip", cigar, start, end, clip);
            }
            case 4 -> { int clipped = below(length + 2); print(() -> CigarUtils.alignmentStartShift(cigar, clipped), "start_shift", cigar, clipped); }
            case 5 -> print(() -> CigarUtils.revertSoftClips(cigar), "revert", cigar);
            case 6 -> { Cigar other = unclipped(); print(() -> hidden("appendClippedElementsFromCigarToCigar", Cigar.class, Cigar.class).invoke(null, other, cigar), "append", other, cigar); }
            case 7 -> { int from = below(span + 1), to = from + below(span + 2 - from); print(() -> AlignmentUtils.trimCigarByReference(cigar, from, to), "trim_reference", cigar, from, to); }
            case 8 -> { int from = below(length + 1), to = from + below(length + 2 - from); print(() -> AlignmentUtils.trimCigarByBases(cigar, from, to), "trim_read", cigar, from, to); }
            case 9 -> {
                // GATK does not end for an element of no bases.
                Cigar first = below(4) == 0 ? new CigarBuilder(false).addAll(unclipped()).add(new CigarElement(2, draw(ANY))).make() : unclipped();
                Cigar second = below(8) == 0 ? cigar : unclipped();
                if (second.getCigarElements().stream().anyMatch(e -> e.getLength() == 0)) return;
                print(() -> AlignmentUtils.applyCigarToCigar(first, second), "compose", first, second);
            }
            case 10 -> { Cigar of = unclipped(); int index = below(of.getReadLength() + 2); print(() -> hidden("readStartOnReferenceHaplotype", Cigar.class, int.class).invoke(null, of, index), "offset", of, index); }
            default -> { int position = 98 + below(length + span + 5); print(() -> {
                    Pair<Integer, CigarOperator> found = ReadUtils.getReadIndexForReferenceCoordinate(100, cigar, position);
                    return found.getRight() == null ? "none" : found.getLeft() + " " + found.getRight();
                }, "lookup", cigar, 100, position); }
        }
    }

    /** Aligns the cases of a file again and again. */
    static void measure(SmithWatermanAligner aligner, String file, int times) throws Exception {
        List<String[]> cases = new ArrayList<>();
        for (String line : java.nio.file.Files.readAllLines(java.nio.file.Path.of(file))) {
            String[] parts = line.split("\t");
            if (parts[0].equals("sw")) cases.add(parts);
        }
        byte[][] references = cases.stream().map(c -> c[1].getBytes()).toArray(byte[][]::new);
        byte[][] others = cases.stream().map(c -> c[2].getBytes()).toArray(byte[][]::new);
        SWParameters[] all = cases.stream().map(c -> Arrays.stream(c[3].split(",")).mapToInt(Integer::parseInt).toArray())
            .map(v -> new SWParameters(v[0], v[1], v[2], v[3])).toArray(SWParameters[]::new);
        SWOverhangStrategy[] strategies = cases.stream().map(c -> SWOverhangStrategy.valueOf(c[4])).toArray(SWOverhangStrategy[]::new);
        for (int time = 0; time < times; time++) {
            long start = System.nanoTime();
            for (int i = 0; i < references.length; i++)
                aligner.align(references[i], others[i], all[i], strategies[i]);
            out.println((System.nanoTime() - start) / references.length);
        }
    }

    public static void main(String[] arguments) throws Exception {
        out = new PrintStream(new BufferedOutputStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), 1 << 16), false);
        SmithWatermanAligner aligner = SmithWatermanAligner.getAligner(SmithWatermanAligner.Implementation.AVX_ENABLED);
        long first = Long.parseLong(arguments[0]);
        int longest = Integer.parseInt(arguments[2]);
        if (arguments.length > 3) {
            measure(aligner, arguments[3], Integer.parseInt(arguments[1]));
            out.flush();
            return;
        }
        for (long seed = first; seed < first + Long.parseLong(arguments[1]); seed++) {
            state = seed << 20;
            int kind = below(24);
            if (kind < 12) cigars(kind);
            else if (kind < 14) leftAlign(kind - 12);
            else if (kind < 18) haplotype(aligner, Math.min(longest, 150));
            else align(aligner, longest);
        }
        out.flush();
    }
}
