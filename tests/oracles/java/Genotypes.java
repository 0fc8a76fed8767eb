import htsjdk.samtools.*;
import htsjdk.variant.variantcontext.*;
import java.lang.reflect.Method;
import java.util.*;
import java.util.stream.*;
import org.broadinstitute.hellbender.engine.FeatureContext;
import org.broadinstitute.hellbender.engine.ReferenceContext;
import org.broadinstitute.hellbender.tools.walkers.annotator.InfoFieldAnnotation;
import org.broadinstitute.hellbender.tools.walkers.annotator.VariantAnnotatorEngine;
import org.broadinstitute.hellbender.tools.walkers.genotyper.GenotypeLikelihoodCalculator;
import org.broadinstitute.hellbender.tools.walkers.genotyper.afcalc.*;
import org.broadinstitute.hellbender.tools.walkers.haplotypecaller.*;
import org.broadinstitute.hellbender.utils.SimpleInterval;
import org.broadinstitute.hellbender.utils.genotyper.*;
import org.broadinstitute.hellbender.utils.haplotype.*;
import org.broadinstitute.hellbender.utils.read.*;
import org.broadinstitute.hellbender.utils.variant.GATKVariantContextUtils;

/**
 * Prints random input of genotyping, and what GATK's classes return for it, one case a line. The tests of
 * readmill-genotypes parse the lines. Arguments: the kind of cases, a seed, and the number of cases, which the stored
 * cases ignore.
 */
public class Genotypes {
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

    static boolean oneOf(int n) {
        return below(n) == 0;
    }

    static String bases(int length) {
        char[] text = new char[length];
        for (int i = 0; i < length; i++) {
            text[i] = "ACGT".charAt(below(4));
        }
        return new String(text);
    }

    static String hex(double x) {
        return Long.toHexString(Double.doubleToLongBits(x));
    }

    static <T> String join(Collection<T> values, String separator, java.util.function.Function<T, String> text) {
        return values.stream().map(text).collect(Collectors.joining(separator));
    }

    static long hash(double[]... rows) {
        long hash = 0;
        for (double[] row : rows) {
            for (double x : row) {
                hash = (hash ^ Double.doubleToLongBits(x)) * 0x9e3779b97f4a7c15L;
                hash ^= hash >>> 32;
            }
        }
        return hash;
    }

    /** Likelihoods of reads given haplotypes; two haplotypes of a sample are true. */
    static double[][] drawLikelihoods(int haplotypes, int reads) {
        double[][] values = new double[haplotypes][reads];
        int[] truth = {below(haplotypes), below(haplotypes)};
        for (int r = 0; r < reads; r++) {
            int origin = oneOf(16) ? below(haplotypes) : truth[below(2)];
            double best = -(next() >>> 11) * 0x1.0p-53;
            for (int h = 0; h < haplotypes; h++) {
                long draw = next();
                double scale = (draw & 7) == 1 ? 40.0 : 4.0;
                boolean isBest = h == origin || (draw & 3) == 0;
                values[h][r] = isBest ? best : best - (draw >>> 11) * 0x1.0p-53 * scale;
            }
        }
        return values;
    }

    // ---- Calls as text

    static String describeGenotype(VariantContext vc, Genotype g) {
        String separator = g.isPhased() ? "|" : "/";
        String alleles = join(g.getAlleles(), separator, a -> a.isNoCall() ? "." : "" + vc.getAlleleIndex(a));
        String pls = g.hasPL() ? join(Arrays.stream(g.getPL()).boxed().collect(Collectors.toList()), ",", x -> "" + x) : "-";
        String text = alleles + ":" + pls + ":" + (g.hasGQ() ? "" + g.getGQ() : "-");
        if (g.hasExtendedAttribute("PID")) {
            text += ":" + g.getExtendedAttribute("PGT") + ":" + g.getExtendedAttribute("PID") + ":" + g.getExtendedAttribute("PS");
        }
        return text;
    }

    static String describeCall(VariantContext vc) {
        List<Integer> counts = (List<Integer>) vc.getAttribute("MLEAC");
        List<Double> frequencies = (List<Double>) vc.getAttribute("MLEAF");
        return vc.getStart() + "-" + vc.getEnd() + " " + join(vc.getAlleles(), ",", Allele::getDisplayString) + " "
            + hex(vc.getLog10PError()) + " " + (vc.filtersWereApplied() ? "F" : "-") + " " + join(counts, ",", x -> "" + x)
            + " " + join(frequencies, ",", x -> hex(x)) + " " + join(vc.getGenotypes(), " ", g -> describeGenotype(vc, g));
    }

    // ---- The engine

    static class Spy implements InfoFieldAnnotation {
        List<String> seen = new ArrayList<>();

        @Override
        public List<String> getKeyNames() {
            return List.of();
        }

        @Override
        public Map<String, Object> annotate(ReferenceContext ref, VariantContext vc, AlleleLikelihoods<GATKRead, Allele> likelihoods) {
            List<String> samples = new ArrayList<>();
            for (int s = 0; s < likelihoods.numberOfSamples(); s++) {
                LikelihoodMatrix<GATKRead, Allele> matrix = likelihoods.sampleMatrix(s);
                double[][] rows = new double[matrix.numberOfAlleles()][matrix.evidenceCount()];
                for (int a = 0; a < rows.length; a++) {
                    for (int r = 0; r < rows[a].length; r++) {
                        rows[a][r] = matrix.get(a, r);
                    }
                }
                samples.add(join(matrix.evidence(), ",", GATKRead::getName) + ":" + Long.toHexString(hash(rows)));
            }
            seen.add(join(likelihoods.alleles(), ",", Allele::getDisplayString) + " " + String.join(" ", samples));
            return Map.of();
        }
    }

    static Spy spy;
    static SAMFileHeader header;
    static SampleList samples;
    static int ploidy;
    static boolean isGvcf;
    static HaplotypeCallerArgumentCollection arguments;

    /** Draws an engine. Ploidy 2 is most frequent. */
    static HaplotypeCallerGenotypingEngine drawEngine(int[] contigLengths) {
        int drawnPloidy = oneOf(3) ? 1 + below(8) : 2;
        boolean drawnGvcf = oneOf(2);
        return createEngine(drawnPloidy, drawnGvcf, drawnGvcf ? 1 : 1 + below(3) * below(2), contigLengths);
    }

    /** Creates an engine, and prints how. */
    static HaplotypeCallerGenotypingEngine createEngine(int newPloidy, boolean newGvcf, int sampleCount, int[] contigLengths) {
        ploidy = newPloidy;
        isGvcf = newGvcf;
        header = new SAMFileHeader();
        for (int i = 0; i < contigLengths.length; i++) {
            header.addSequence(new SAMSequenceRecord("c" + i, contigLengths[i]));
        }
        List<String> names = IntStream.range(0, sampleCount).mapToObj(i -> "s" + i).collect(Collectors.toList());
        samples = new IndexedSampleList(names);
        arguments = new HaplotypeCallerArgumentCollection();
        arguments.standardArgs.genotypeArgs.samplePloidy = ploidy;
        if (isGvcf) {
            arguments.emitReferenceConfidence = ReferenceConfidenceMode.GVCF;
            arguments.standardArgs.genotypeArgs.standardConfidenceForCalling = -0.0;
            arguments.standardArgs.annotateAllSitesWithPLs = true;
        }
        HaplotypeCallerGenotypingEngine engine =
            new HaplotypeCallerGenotypingEngine(arguments, samples, isGvcf && ploidy == 2, false);
        spy = new Spy();
        engine.setAnnotationEngine(new VariantAnnotatorEngine(List.of(spy), null, List.of(), false, false));
        System.out.println("engine " + ploidy + " " + isGvcf + " " + sampleCount + " "
            + Arrays.stream(contigLengths).mapToObj(Integer::toString).collect(Collectors.joining(",")));
        return engine;
    }

    // ---- Regions

    /** A haplotype with events, from offsets into the reference: what is replaced, and by what. */
    static Haplotype makeHaplotype(String ref, TreeMap<Integer, String[]> edits, boolean isRef) {
        StringBuilder text = new StringBuilder();
        Cigar cigar = new Cigar();
        int at = 0, matched = 0;
        for (Map.Entry<Integer, String[]> edit : edits.entrySet()) {
            int start = edit.getKey(), deleted = Integer.parseInt(edit.getValue()[0]);
            String inserted = edit.getValue()[1];
            text.append(ref, at, start);
            matched += start - at;
            at = start;
            if (deleted == 1 && inserted.length() == 1) {
                text.append(inserted);
                matched += 1;
                at += 1;
                continue;
            }
            if (matched > 0) {
                cigar.add(new CigarElement(matched, CigarOperator.M));
            }
            matched = 0;
            if (deleted > 0) {
                cigar.add(new CigarElement(deleted, CigarOperator.D));
            }
            if (inserted.length() > 0) {
                cigar.add(new CigarElement(inserted.length(), CigarOperator.I));
            }
            text.append(inserted);
            at += deleted;
        }
        text.append(ref.substring(at));
        cigar.add(new CigarElement(matched + ref.length() - at, CigarOperator.M));
        Haplotype haplotype = new Haplotype(text.toString().getBytes(), isRef);
        haplotype.setCigar(cigar);
        haplotype.setAlignmentStartHapwrtRef(0);
        return haplotype;
    }

    static String[] drawEdit() {
        switch (below(4)) {
            case 0:
                return new String[] {"0", bases(1 + below(3))};
            case 1:
                return new String[] {"" + (1 + below(oneOf(3) ? 25 : 4)), ""};
            case 2:
                return new String[] {"" + (1 + below(3)), bases(1 + below(3))};
            default:
                return new String[] {"1", bases(1)};
        }
    }

    static List<Haplotype> drawHaplotypes(String ref) {
        boolean isHot = oneOf(40);
        int sites = isHot ? 1 : 1 + below(6), last = ref.length() - 3;
        TreeMap<Integer, List<String[]>> edits = new TreeMap<>();
        int spread = oneOf(2) ? last - 1 : 12;
        int from = 2 + below(last - 2);
        for (int i = 0; i < sites; i++) {
            int at = 2 + (from + below(spread)) % (last - 2);
            int choices = isHot ? 8 + below(60) : 1 + below(2) * below(4);
            List<String[]> list = edits.computeIfAbsent(at, k -> new ArrayList<>());
            for (int k = 0; k < choices; k++) {
                list.add(isHot && !oneOf(4) ? new String[] {"0", bases(3 + below(3))} : drawEdit());
            }
        }
        Map<String, Haplotype> haplotypes = new LinkedHashMap<>();
        haplotypes.put(ref, makeHaplotype(ref, new TreeMap<>(), true));
        int count = isHot ? 70 : 1 + below(8);
        for (int i = 0; i < count; i++) {
            TreeMap<Integer, String[]> chosen = new TreeMap<>();
            int free = 1;
            for (Map.Entry<Integer, List<String[]>> site : edits.entrySet()) {
                String[] edit = site.getValue().get(below(site.getValue().size()));
                int end = site.getKey() + Integer.parseInt(edit[0]);
                boolean wants = isHot || oneOf(2);
                if (wants && site.getKey() >= free && end < ref.length() - 1) {
                    chosen.put(site.getKey(), edit);
                    free = end + below(2);
                }
            }
            Haplotype haplotype = makeHaplotype(ref, chosen, false);
            haplotypes.putIfAbsent(haplotype.getBaseString(), haplotype);
        }
        List<Haplotype> list = new ArrayList<>(haplotypes.values());
        Collections.swap(list, 0, below(list.size()));
        for (Haplotype haplotype : list) {
            haplotype.setScore(haplotype.isReference() && oneOf(2) ? Double.NaN : oneOf(3) ? -below(3) : -(next() >>> 11) * 0x1.0p-50);
        }
        return list;
    }

    static String describeEvents(Haplotype haplotype) {
        return join(haplotype.getEventMap().getEvents(), ",",
            e -> e.getStart() + ":" + e.refAllele().getDisplayString() + ":" + e.altAllele().getDisplayString());
    }

    static List<GATKRead> drawReads(String prefix, int count, int contig, SimpleInterval loc) {
        List<GATKRead> reads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int start = loc.getStart() + below(loc.size());
            int length = Math.min(1 + below(60), loc.getEnd() - start + 1);
            SAMRecord record = new SAMRecord(header);
            record.setReadName(prefix + i);
            record.setReferenceIndex(contig);
            record.setAlignmentStart(start);
            record.setCigarString(length + (oneOf(20) && prefix.equals("r") ? "I" : "M"));
            byte[] sequence = new byte[length];
            Arrays.fill(sequence, (byte) 'A');
            record.setReadBases(sequence);
            record.setBaseQualities(new byte[length]);
            reads.add(new SAMRecordToGATKReadAdapter(record));
        }
        return reads;
    }

    static void callRegion(HaplotypeCallerGenotypingEngine engine, int contig, String genome, int start, int end) {
        int first = Math.max(1, start - 15), last = Math.min(genome.length(), end + 15);
        SimpleInterval loc = new SimpleInterval("c" + contig, first, last);
        String ref = genome.substring(first - 1, last);
        List<Haplotype> haplotypes = drawHaplotypes(ref);
        haplotypes.forEach(h -> h.setGenomeLocation(loc));
        EventMap.buildEventMapsForHaplotypes(haplotypes, ref.getBytes(), loc, false, 0);
        long seed = next();
        StringBuilder input = new StringBuilder("region " + contig + " " + first + " " + ref + " " + start + " " + end + " "
            + Long.toHexString(seed) + " " + join(haplotypes, ";", h -> hex(h.getScore()) + "=" + describeEvents(h)));
        Map<String, List<GATKRead>> reads = new HashMap<>(), filtered = new HashMap<>();
        for (String sample : samples.asListOfSamples()) {
            reads.put(sample, drawReads("r", oneOf(15) ? 0 : below(oneOf(4) ? 120 : 30), contig, loc));
            filtered.put(sample, drawReads("f", below(2) * below(4), contig, loc));
            for (List<GATKRead> list : List.of(reads.get(sample), filtered.get(sample))) {
                input.append(" ").append(join(list, ",", r -> r.getStart() + "-" + r.getEnd()));
                input.append(list.isEmpty() ? "." : "");
            }
        }
        state = seed;
        AlleleLikelihoods<GATKRead, Haplotype> likelihoods =
            new AlleleLikelihoods<>(samples, new IndexedAlleleList<>(haplotypes), reads);
        for (int s = 0; s < samples.numberOfSamples(); s++) {
            LikelihoodMatrix<GATKRead, Haplotype> matrix = likelihoods.sampleMatrix(s);
            double[][] values = drawLikelihoods(haplotypes.size(), matrix.evidenceCount());
            for (int h = 0; h < values.length; h++) {
                for (int r = 0; r < values[h].length; r++) {
                    matrix.set(h, r, values[h][r]);
                }
            }
        }
        spy.seen.clear();
        String output;
        try {
            List<VariantContext> calls = engine.assignGenotypeLikelihoods(haplotypes, likelihoods, filtered, ref.getBytes(), loc,
                new SimpleInterval("c" + contig, start, end), new FeatureContext(), List.of(), isGvcf, 0, header, false, Set.of(),
                null).getCalls();
            output = IntStream.range(0, calls.size()).mapToObj(i -> describeCall(calls.get(i)) + " " + spy.seen.get(i))
                .collect(Collectors.joining(";"));
        } catch (RuntimeException e) {
            output = "error " + e;
        }
        System.out.println(input + "\t" + output);
    }

    static void callRegions(int count) {
        while (count > 0) {
            int[] lengths = {150 + below(1000), 150 + below(1000)};
            HaplotypeCallerGenotypingEngine engine = drawEngine(lengths);
            for (int contig = 0; contig < 2; contig++) {
                String genome = bases(lengths[contig]);
                for (int start = 1, end; start <= genome.length() && count > 0; start = end + 1, count--) {
                    end = Math.min(genome.length(), start + 19 + below(40));
                    callRegion(engine, contig, genome, start, end);
                }
            }
        }
    }

    // ---- Sites

    /** Returns alleles, the reference first. GATK compares {@code <NON_REF>} by identity. */
    static List<Allele> createAlleles(List<String> texts) {
        return IntStream.range(0, texts.size())
            .mapToObj(i -> texts.get(i).equals("<NON_REF>") ? Allele.NON_REF_ALLELE : Allele.create(texts.get(i), i == 0))
            .collect(Collectors.toList());
    }

    static List<Allele> drawAlleles() {
        String ref = bases(1 + below(2) * below(8));
        Set<String> alternates = new LinkedHashSet<>();
        int count = ploidy < 4 && oneOf(20) ? 6 + below(oneOf(10) ? 45 : 4) : 1 + below(2) * below(4);
        while (alternates.size() < count) {
            String alternate = oneOf(5) ? "*" : oneOf(2) ? ref.substring(0, 1) + bases(below(6)) : bases(1 + below(3)) + ref.substring(1);
            if (!alternate.equals(ref)) {
                alternates.add(alternate);
            }
        }
        if (isGvcf) {
            alternates.add("<NON_REF>");
        }
        List<String> texts = new ArrayList<>(List.of(ref));
        texts.addAll(alternates);
        return createAlleles(texts);
    }

    static int[] drawPls(int count) {
        int[] pls = new int[count];
        int scale = oneOf(4) ? 4 : oneOf(4) ? 3000 : oneOf(100) ? Integer.MAX_VALUE : 60;
        for (int i = 0; i < count; i++) {
            pls[i] = oneOf(12) ? 0 : below(scale);
        }
        pls[below(count)] = 0;
        if (oneOf(12)) {
            Arrays.fill(pls, 0);
        } else if (oneOf(12)) {
            pls[0] = 0;
        }
        return pls;
    }

    static void callSite(HaplotypeCallerGenotypingEngine engine, int contig, int start, List<Allele> alleles, List<int[]> pls) {
        List<Allele> noCall = GATKVariantContextUtils.noCallAlleles(ploidy);
        List<Genotype> genotypes = IntStream.range(0, pls.size())
            .mapToObj(s -> new GenotypeBuilder("s" + s).alleles(noCall).PL(pls.get(s)).make()).collect(Collectors.toList());
        VariantContext vc = new VariantContextBuilder("x", "c" + contig, start, start + alleles.get(0).length() - 1, alleles)
            .genotypes(genotypes).make();
        String frequencies = "-";
        if (alleles.size() <= 7) {
            AFCalculationResult result =
                AlleleFrequencyCalculator.makeCalculator(arguments.standardArgs.genotypeArgs).calculate(vc, ploidy);
            frequencies = Arrays.toString(result.getAlleleCountsOfMLE()).replaceAll("[\\[\\] ]", "") + " "
                + hex(result.log10ProbOnlyRefAlleleExists()) + " "
                + join(alleles.subList(1, alleles.size()), ",", a -> hex(result.getLog10PosteriorOfAlleleAbsent(a)));
        }
        VariantContext call = engine.calculateGenotypes(vc, null, List.of());
        String output = call == null ? "none"
            : describeCall(call) + " " + describeCall(GATKVariantContextUtils.reverseTrimAlleles(call));
        System.out.println("site " + contig + " " + start + " " + join(alleles, ",", Allele::getDisplayString) + " "
            + join(pls, ";", list -> join(Arrays.stream(list).boxed().collect(Collectors.toList()), ",", x -> "" + x))
            + "\t" + frequencies + ";" + output);
    }

    static void callSites(int count) {
        while (count > 0) {
            HaplotypeCallerGenotypingEngine engine = drawEngine(new int[] {100000, 100000});
            for (int contig = 0; contig < 2; contig++) {
                int start = 1;
                for (int i = 0; i < 25 && count > 0; i++, count--) {
                    start += below(6);
                    List<Allele> alleles = drawAlleles();
                    int genotypeCount = GenotypeLikelihoods.numLikelihoods(alleles.size(), ploidy);
                    callSite(engine, contig, start, alleles,
                        Stream.generate(() -> drawPls(genotypeCount)).limit(samples.numberOfSamples()).collect(Collectors.toList()));
                }
            }
        }
    }

    // ---- Likelihoods of genotypes

    static void computeLikelihoods(int count) {
        int[] maxAlleles = {0, 12, 12, 8, 6, 5, 4, 4, 4};
        for (int i = 0; i < count; i++) {
            int ploidy = 1 + below(8), alleleCount = 1 + below(maxAlleles[ploidy]), readCount = below(oneOf(10) ? 200 : 20);
            long seed = next();
            state = seed;
            double[][] values = drawLikelihoods(alleleCount, readCount);
            if (oneOf(4)) {
                Arrays.fill(values[below(alleleCount)], Double.NEGATIVE_INFINITY);
            }
            List<Allele> alleles = new ArrayList<>(List.of(Allele.create("A", true)));
            for (int a = 1; a < alleleCount; a++) {
                alleles.add(Allele.create("A" + "C".repeat(a), false));
            }
            header = new SAMFileHeader();
            header.addSequence(new SAMSequenceRecord("c0", 1000));
            List<GATKRead> reads = drawReads("r", readCount, 0, new SimpleInterval("c0", 1, 1000));
            AlleleLikelihoods<GATKRead, Allele> likelihoods = new AlleleLikelihoods<>(new IndexedSampleList(List.of("s0")),
                new IndexedAlleleList<>(alleles), Map.of("s0", reads));
            fill(likelihoods, values);
            double[] result = GenotypeLikelihoodCalculator.log10GenotypeLikelihoods(ploidy, likelihoods.sampleMatrix(0)).getAsVector();
            likelihoods.addNonReferenceAllele(Allele.NON_REF_ALLELE);
            double[] median = new double[readCount];
            likelihoods.sampleMatrix(0).copyAlleleLikelihoods(alleleCount, median, 0);
            System.out.println("likelihoods " + ploidy + " " + alleleCount + " " + readCount + " " + Long.toHexString(seed) + "\t"
                + Long.toHexString(hash(result)) + " " + Long.toHexString(hash(median)));
        }
    }

    static void fill(AlleleLikelihoods<GATKRead, Allele> likelihoods, double[][] values) {
        for (int a = 0; a < values.length; a++) {
            for (int r = 0; r < values[a].length; r++) {
                likelihoods.sampleMatrix(0).set(a, r, values[a][r]);
            }
        }
    }

    // ---- Events at a locus

    static List<Haplotype> drawEventHaplotypes(String ref, int count) {
        List<Haplotype> haplotypes = new ArrayList<>();
        for (int h = 0; h < count; h++) {
            List<Event> events = new ArrayList<>();
            for (int at = below(4); at < ref.length() - 8; at += 1 + below(6)) {
                if (oneOf(3)) {
                    continue;
                }
                String replaced = ref.substring(at, at + 1 + below(2) * below(7));
                String by = oneOf(2) ? replaced.substring(0, 1) + bases(below(3)) : bases(1 + below(3));
                boolean isMinimal = replaced.length() == 1 || by.length() == 1
                    || replaced.charAt(replaced.length() - 1) != by.charAt(by.length() - 1);
                if (!by.equals(replaced) && isMinimal) {
                    events.add(new Event("c0", at + 1, Allele.create(replaced, true), Allele.create(by, false)));
                }
            }
            Haplotype haplotype = new Haplotype(("A".repeat(h) + "C").getBytes(), h == 0);
            haplotype.setEventMap(EventMap.of(events.toArray(new Event[0])));
            haplotype.setScore(oneOf(20) ? Double.NaN : oneOf(3) ? -below(3) : -(next() >>> 11) * 0x1.0p-50);
            haplotypes.add(haplotype);
        }
        return haplotypes;
    }

    static void mergeEvents(int count) throws Exception {
        Method keep = HaplotypeCallerGenotypingEngine.class.getDeclaredMethod("whichAllelesToKeepBasedonHapScores", Map.class, int.class);
        keep.setAccessible(true);
        for (int i = 0; i < count; i++) {
            String ref = bases(20);
            List<Haplotype> haplotypes = drawEventHaplotypes(ref, 1 + below(oneOf(10) ? 30 : 8));
            int locus = 1 + below(14), max = 2 + below(4);
            List<VariantContext> events = AssemblyBasedCallerUtils.getVariantsFromActiveHaplotypes(locus, haplotypes, true);
            Allele base = Allele.create(ref.substring(locus - 1, locus), true);
            VariantContext merged = AssemblyBasedCallerUtils.makeMergedVariantContext(
                HaplotypeCallerGenotypingEngine.replaceSpanDels(events, base, locus));
            String output = "none";
            if (merged != null) {
                Map<Allele, List<Haplotype>> map = AssemblyBasedCallerUtils.createAlleleMapper(merged, locus, haplotypes, true);
                List<Allele> kept = (List<Allele>) keep.invoke(null, map, max);
                output = merged.getStart() + "-" + merged.getEnd() + " " + join(merged.getAlleles(), ",", Allele::getDisplayString) + " "
                    + join(map.values(), ";", list -> join(list, ",", h -> "" + (h.length() - 1))) + " "
                    + join(kept, ",", Allele::getDisplayString);
            }
            System.out.println("merge " + locus + " " + ref + " " + max + " "
                + join(haplotypes, ";", h -> hex(h.getScore()) + "=" + describeEvents(h)) + "\t" + output);
        }
    }

    // ---- Phases

    static void phaseCalls(int count) {
        for (int i = 0; i < count; i++) {
            int sites = 1 + below(6), haplotypeCount = 1 + below(oneOf(20) ? 70 : 5);
            List<List<Event>> events = new ArrayList<>();
            List<Haplotype> haplotypes = new ArrayList<>();
            Set<Haplotype> called = new HashSet<>();
            int mode = below(3);
            for (int h = 0; h < haplotypeCount; h++) {
                List<Event> carried = new ArrayList<>();
                for (int s = 0; s < sites; s++) {
                    boolean carries = mode == 0 ? oneOf(2) : mode == 1 ? (h + (oneOf(8) ? 1 : 0)) % 2 == s % 2 : !oneOf(5);
                    if (carries) {
                        carried.add(new Event("c0", 10 + 10 * s, Allele.create("A", true), Allele.create(oneOf(8) ? "G" : "C", false)));
                    }
                }
                Haplotype haplotype = new Haplotype(("A".repeat(h) + "C").getBytes(), h == 0);
                haplotype.setEventMap(EventMap.of(carried.toArray(new Event[0])));
                haplotypes.add(haplotype);
                if (!oneOf(6)) {
                    called.add(haplotype);
                }
            }
            List<VariantContext> calls = new ArrayList<>();
            for (int s = 0; s < sites; s++) {
                List<Allele> alleles = new ArrayList<>(List.of(Allele.create("A", true)));
                if (oneOf(5)) {
                    alleles.add(Allele.SPAN_DEL);
                }
                alleles.add(Allele.create("C", false));
                if (oneOf(8)) {
                    alleles.add(Allele.create("G", false));
                }
                alleles.add(Allele.NON_REF_ALLELE);
                Genotype genotype = new GenotypeBuilder("s0").alleles(oneOf(8) ? GATKVariantContextUtils.noCallAlleles(2)
                    : Stream.generate(() -> alleles.get(below(alleles.size() - 1))).limit(2).sorted().collect(Collectors.toList())).make();
                calls.add(new VariantContextBuilder("x", "c0", 10 + 10 * s, 10 + 10 * s, alleles).genotypes(genotype).make());
            }
            printPhases(haplotypes, called, calls);
        }
    }

    static void printPhases(List<Haplotype> haplotypes, Set<Haplotype> called, List<VariantContext> calls) {
        List<VariantContext> phased = AssemblyBasedCallerUtils.phaseCalls(calls, called);
        java.util.function.Function<VariantContext, String> text = vc -> vc.getStart() + ":"
            + join(vc.getAlleles(), ",", Allele::getDisplayString) + ":"
            + join(vc.getGenotype(0).getAlleles(), "/", a -> a.isNoCall() ? "." : "" + vc.getAlleleIndex(a));
        System.out.println("phase " + join(haplotypes, ";", h -> (called.contains(h) ? "1" : "0") + "=" + describeEvents(h)) + " "
            + join(calls, ";", text) + "\t" + join(phased, ";", vc -> describeGenotype(vc, vc.getGenotype(0))));
    }

    // ---- Edge cases

    static HaplotypeCallerGenotypingEngine edgeEngine;

    static void startEdge(String remark, int ploidy, boolean isGvcf) {
        System.out.println("# " + remark);
        edgeEngine = createEngine(ploidy, isGvcf, 1, new int[] {1000});
    }

    static void site(int start, String alleles, int... pls) {
        callSite(edgeEngine, 0, start, createAlleles(List.of(alleles.split(","))), List.of(pls));
    }

    /** A site with so many insertions, all genotypes of which are bad but one. */
    static void manyAlleles(int start, int insertions, int best) {
        String alleles = IntStream.range(0, insertions).mapToObj(i -> ",A" + "C".repeat(i + 1)).collect(Collectors.joining());
        int[] pls = new int[GenotypeLikelihoods.numLikelihoods(insertions + 1, ploidy)];
        Arrays.setAll(pls, i -> i == best ? 0 : 300 + i % 100);
        site(start, "A" + alleles + (isGvcf ? ",<NON_REF>" : ""), isGvcf ? Arrays.copyOf(pls, pls.length + insertions + 2) : pls);
    }

    /** Haplotypes are given by the sites at which each has its alternate allele, and calls by alleles and genotype. */
    static void phase(String haplotypeText, String... callTexts) {
        List<Haplotype> haplotypes = new ArrayList<>();
        for (String sites : haplotypeText.split(";")) {
            Haplotype haplotype = new Haplotype(("A".repeat(haplotypes.size()) + "C").getBytes(), haplotypes.isEmpty());
            haplotype.setEventMap(new EventMap(sites.chars().filter(Character::isDigit).mapToObj(
                site -> new Event("c0", 10 * (site - '0'), Allele.create("A", true), Allele.create("C", false)))
                .collect(Collectors.toList())));
            haplotypes.add(haplotype);
        }
        List<VariantContext> calls = new ArrayList<>();
        for (String text : callTexts) {
            List<Allele> alleles = createAlleles(List.of(text.split(":")[0].split(",")));
            List<Allele> called = Arrays.stream(text.split(":")[1].split("/")).map(i -> alleles.get(Integer.parseInt(i)))
                .collect(Collectors.toList());
            int start = 10 * (calls.size() + 1);
            calls.add(new VariantContextBuilder("x", "c0", start, start, alleles)
                .genotypes(new GenotypeBuilder("s0").alleles(called).make()).make());
        }
        printPhases(haplotypes, new HashSet<>(haplotypes), calls);
    }

    static void printEdges() {
        startEdge("a spanning deletion that was called, and one that was not", 2, false);
        site(10, "ACCC,A", 900, 0, 900);
        site(13, "C,*,T", 900, 900, 900, 900, 0, 900);
        site(14, "C,*,T", 900, 900, 900, 900, 0, 900);
        site(30, "ACCC,A", 0, 30, 900);
        site(32, "C,*,T", 900, 900, 900, 900, 0, 900);
        startEdge("a site with only a spanning deletion", 2, false);
        site(10, "ACCC,A", 900, 0, 900);
        site(12, "C,*", 900, 0, 900);
        startEdge("a site with only a spanning deletion, in a GVCF", 2, true);
        site(10, "ACCC,A,<NON_REF>", 900, 0, 900, 900, 900, 900);
        site(12, "C,*,<NON_REF>", 900, 0, 900, 900, 900, 900);
        site(30, "C,*,<NON_REF>", 900, 0, 900, 900, 900, 900);
        startEdge("nested deletions", 2, false);
        site(10, "ACCCCCCCC,A", 900, 0, 900);
        site(12, "CCC,C,*", 900, 900, 900, 900, 0, 900);
        site(14, "C,T,*", 900, 900, 900, 900, 0, 900);
        site(17, "C,T,*", 900, 900, 900, 900, 0, 900);
        for (boolean gvcf : new boolean[] {false, true}) {
            startEdge("seven alternate alleles and more, more than 50 alleles", 2, gvcf);
            manyAlleles(10, 6, 1);
            manyAlleles(20, 7, 1);
            manyAlleles(30, 9, 44);
            manyAlleles(40, 43, 400);
            manyAlleles(50, 50, 1);
        }
        startEdge("equal likelihoods, and a reference of quality 0", 2, false);
        site(10, "A,T", 900, 0, 0);
        site(20, "A,T", 0, 0, 900);
        site(30, "A,T", 0, 0, 0);
        startEdge("equal likelihoods, a reference of quality 0, and a genotype with <NON_REF>, in a GVCF", 2, true);
        site(10, "A,T,<NON_REF>", 900, 0, 0, 900, 900, 900);
        site(20, "A,T,<NON_REF>", 0, 0, 900, 900, 900, 900);
        site(30, "A,T,<NON_REF>", 0, 0, 0, 0, 0, 0);
        site(40, "A,T,<NON_REF>", 20, 30, 900, 0, 900, 900);
        site(50, "A,T,<NON_REF>", 0, 1, 900, 900, 900, 900);
        startEdge("confidence near 30", 2, false);
        for (int pl = 36; pl < 40; pl++) {
            site(10 * pl, "A,T", pl, 0, 500);
        }
        for (int pl = 36; pl < 50; pl++) {
            site(10 * pl, "AC,A", pl, 0, 500);
        }
        startEdge("confidence of almost 0, and of 100,000, in a GVCF", 2, true);
        site(10, "A,T,<NON_REF>", 0, 60, 900, 90, 900, 900);
        site(20, "A,T,<NON_REF>", 0, 120, 1900, 120, 1900, 1900);
        site(30, "A,T,<NON_REF>", 100000, 0, 100000, 100000, 100000, 100000);
        startEdge("two copies of the alternate allele", 2, false);
        site(10, "A,T", 900, 90, 0);
        startEdge("alleles that are trimmed after one is dropped", 2, false);
        site(10, "AGG,A,AGGG", 900, 900, 900, 0, 900, 900);
        site(20, "AGG,AGGG,*", 900, 0, 900, 900, 900, 900);
        startEdge("one chromosome", 1, true);
        site(10, "A,T,<NON_REF>", 900, 0, 900);
        site(20, "A,T,<NON_REF>", 0, 0, 900);
        startEdge("three chromosomes", 3, false);
        site(10, "A,T", 900, 10, 0, 900);
        site(20, "A,T,C", 900, 900, 900, 900, 900, 900, 0, 900, 900, 900);
        System.out.println("# calls that contradict each other, a call on all haplotypes, and a call with two alternate alleles");
        phase(";13;23;3", "A,C,<NON_REF>:0/1", "A,C,<NON_REF>:0/1", "A,C,<NON_REF>:0/1");
        phase(";1;12;23", "A,C,<NON_REF>:0/1", "A,C,<NON_REF>:0/1", "A,C,<NON_REF>:0/1");
        phase(";13;23", "A,C,<NON_REF>:0/1", "A,C,<NON_REF>:0/1", "A,C,<NON_REF>:1/1");
        phase(";12;3", "A,C,<NON_REF>:0/1", "A,C,<NON_REF>:0/1", "A,C,<NON_REF>:0/1");
        phase(";13;13", "A,C,<NON_REF>:0/1", "A,C,G,<NON_REF>:1/2", "A,*,C,<NON_REF>:1/2");
        phase(";123;23", "A,C,<NON_REF>:0/1", "A,C,<NON_REF>:0/1", "A,C,<NON_REF>:0/1");
        phase(";1;23;2", "A,C,<NON_REF>:0/1", "A,C,<NON_REF>:0/1", "A,C,<NON_REF>:0/1");
    }

    public static void main(String[] words) throws Exception {
        state = Long.parseLong(words[1]);
        int count = Integer.parseInt(words[2]);
        switch (words[0]) {
            case "regions" -> callRegions(count);
            case "sites" -> callSites(count);
            case "likelihoods" -> computeLikelihoods(count);
            case "merges" -> mergeEvents(count);
            case "phases" -> phaseCalls(count);
            case "stored" -> {
                printEdges();
                System.out.println("# random cases");
                mergeEvents(100);
                phaseCalls(100);
                computeLikelihoods(200);
                callSites(45);
                callRegions(30);
            }
            default -> throw new IllegalArgumentException(words[0]);
        }
    }
}
