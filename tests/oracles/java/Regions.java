import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeMap;
import org.broadinstitute.barclay.argparser.CommandLineProgramProperties;
import org.broadinstitute.hellbender.cmdline.programgroups.ShortVariantDiscoveryProgramGroup;
import org.broadinstitute.hellbender.engine.AssemblyRegion;
import org.broadinstitute.hellbender.engine.AssemblyRegionEvaluator;
import org.broadinstitute.hellbender.engine.FeatureContext;
import org.broadinstitute.hellbender.engine.ReferenceContext;
import org.broadinstitute.hellbender.tools.walkers.haplotypecaller.HaplotypeCaller;
import org.broadinstitute.hellbender.utils.Utils;
import org.broadinstitute.hellbender.utils.activityprofile.ActivityProfileState;
import org.broadinstitute.hellbender.utils.read.GATKRead;

/**
 * Prints the regions that HaplotypeCaller would call: contig, start, end, whether it is active, the number of its reads
 * and a hash of them, the number of its loci with activity or soft clips and a hash of them.
 *
 * Arguments: a file of runs, and optionally "all" to list reads and loci, or "call" to call variants, too. Each line of
 * the file is a run: the file to write, and arguments of HaplotypeCaller, separated by tabs. A run that fails prints a
 * line of "error" and the name of the exception.
 */
@CommandLineProgramProperties(summary = "regions", oneLineSummary = "regions",
        programGroup = ShortVariantDiscoveryProgramGroup.class)
public class Regions extends HaplotypeCaller {
    static PrintStream out;
    static String mode = "";
    static long hash;
    final TreeMap<Integer, ActivityProfileState> loci = new TreeMap<>();

    static void add(long number) {
        hash = (hash ^ number) * 0x9e3779b97f4a7c15L;
        hash ^= hash >>> 32;
    }

    static void add(String text) {
        text.chars().forEach(letter -> add(letter));
    }

    static double mean(ActivityProfileState state) {
        return state.getResultValue() == null ? 0.0 : state.getResultValue().doubleValue();
    }

    @Override
    public AssemblyRegionEvaluator assemblyRegionEvaluator() {
        AssemblyRegionEvaluator evaluator = super.assemblyRegionEvaluator();
        return (pileup, reference, features) -> {
            ActivityProfileState state = evaluator.isActive(pileup, reference, features);
            if (state.isActiveProb() != 0.0 || mean(state) != 0.0) {
                // The profile changes the state, so it is copied.
                loci.put(state.getLoc().getStart(), new ActivityProfileState(state.getLoc(), state.isActiveProb(),
                        state.getResultState(), mean(state)));
            }
            return state;
        };
    }

    @Override
    public void apply(AssemblyRegion region, ReferenceContext reference, FeatureContext features) {
        loci.headMap(region.getStart()).clear();
        var inside = loci.headMap(region.getEnd(), true);
        out.print(region.getContig() + " " + region.getStart() + " " + region.getEnd() + " " + region.isActive() + " "
                + region.getReads().size());
        hash = 0;
        for (GATKRead read : region.getReads()) {
            add(read.getName());
            add(read.isReverseStrand() ? 1 : 0);
            add(read.getStart());
            add(read.getCigar().toString());
            add(read.getBasesString());
        }
        out.print(" " + Long.toHexString(hash) + " " + inside.size());
        hash = 0;
        inside.forEach((position, state) -> {
            add(position);
            add(Double.doubleToLongBits(state.isActiveProb()));
            add(Double.doubleToLongBits(mean(state)));
        });
        out.println(" " + Long.toHexString(hash));
        if (mode.equals("all")) {
            inside.forEach((position, state) -> out.println("locus " + position + " "
                    + Long.toHexString(Double.doubleToLongBits(state.isActiveProb())) + " "
                    + Long.toHexString(Double.doubleToLongBits(mean(state)))));
            for (GATKRead read : region.getReads()) {
                out.println("read " + read.getName() + " " + read.getStart() + " " + read.getCigar());
            }
        }
        inside.clear();
        if (mode.equals("call")) {
            super.apply(region, reference, features);
        }
    }

    public static void main(String[] arguments) throws Exception {
        mode = arguments.length > 1 ? arguments[1] : "";
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] words = line.split("\t");
            Utils.resetRandomGenerator();
            try (PrintStream file = new PrintStream(words[0])) {
                out = file;
                try {
                    new Regions().instanceMain(List.of(words).subList(1, words.length).toArray(new String[0]));
                } catch (RuntimeException error) {
                    out.println("error " + error.getClass().getSimpleName());
                }
            }
        }
    }
}
