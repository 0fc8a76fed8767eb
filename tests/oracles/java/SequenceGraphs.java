import java.io.BufferedOutputStream;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;

import org.broadinstitute.hellbender.tools.walkers.haplotypecaller.graphs.BaseEdge;
import org.broadinstitute.hellbender.tools.walkers.haplotypecaller.graphs.GraphBasedKBestHaplotypeFinder;
import org.broadinstitute.hellbender.tools.walkers.haplotypecaller.graphs.KBestHaplotype;
import org.broadinstitute.hellbender.tools.walkers.haplotypecaller.graphs.SeqGraph;
import org.broadinstitute.hellbender.tools.walkers.haplotypecaller.graphs.SeqVertex;

/**
 * Prints random graphs of sequences, with short and often equal sequences, and what they are after GATK cleaned them up,
 * and their best paths. Arguments: the first seed and the number of graphs.
 */
public class SequenceGraphs {
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

    static String bases(String alphabet, int longest) {
        StringBuilder text = new StringBuilder();
        for (int i = draw(1, longest); i > 0; i--) {
            text.append(alphabet.charAt(draw(0, alphabet.length() - 1)));
        }
        return text.toString();
    }

    static void add(SeqGraph graph, List<SeqVertex> vertices, int source, int target, int multiplicity, boolean isRef) {
        out.println("edge " + source + " " + target + " " + multiplicity + " " + isRef);
        graph.addEdge(vertices.get(source), vertices.get(target), new BaseEdge(isRef, multiplicity));
    }

    static void print(long seed) {
        state = seed;
        out.println("graph " + seed);
        SeqGraph graph = new SeqGraph(10);
        List<SeqVertex> vertices = new ArrayList<>();
        String alphabet = draw(1, 3) == 1 ? "ACGT" : draw(1, 2) == 1 ? "A" : "AC";
        int longest = draw(1, 5) == 1 ? 14 : draw(1, 4);
        int references = draw(1, 7), all = references + draw(0, draw(1, 3) == 1 ? 16 : 7);
        for (int i = 0; i < all; i++) {
            String text = bases(alphabet, longest);
            out.println("vertex " + text);
            vertices.add(new SeqVertex(text));
            graph.addVertex(vertices.get(i));
        }
        int split = draw(0, all);
        for (int i = 0; i < all * 2; i++) {
            if (i == split) {
                for (int k = 1; k < references; k++) {
                    add(graph, vertices, k - 1, k, draw(1, 9), true);
                }
            }
            int source = draw(0, all - 1), target = draw(0, all - 1);
            // Vertices beyond the reference lie between two of it; most edges lead on.
            int from = place(source, references), to = place(target, references);
            boolean leadsBack = from > to || from == to && source >= target;
            if (leadsBack && draw(1, 40) > 1) {
                int other = source;
                source = target;
                target = other;
            }
            if (source != target) {
                add(graph, vertices, source, target, draw(1, 12) == 1 ? 0 : draw(1, 9), false);
            }
        }
        try {
            printCleaned(graph);
        } catch (RuntimeException error) {
            out.println("error " + error.getMessage());
        }
        out.println("end");
    }

    static int place(int vertex, int references) {
        return vertex < references ? 4 * vertex : vertex * 7 % (4 * references);
    }

    /** Does what the private ReadThreadingAssembler.cleanupSeqGraph does. */
    static void printCleaned(SeqGraph graph) {
        graph.cleanNonRefPaths();
        graph.zipLinearChains();
        graph.removeSingletonOrphanVertices();
        graph.removeVerticesNotConnectedToRefRegardlessOfEdgeDirection();
        graph.simplifyGraph();
        if (graph.getReferenceSourceVertex() == null || graph.getReferenceSinkVertex() == null) {
            out.println("only-reference");
            return;
        }
        graph.removePathsNotConnectedToRef();
        graph.simplifyGraph();
        if (graph.vertexSet().size() == 1) {
            SeqVertex only = graph.vertexSet().iterator().next(), end = new SeqVertex("");
            graph.addVertex(end);
            graph.addEdge(only, end, new BaseEdge(true, 0));
        }
        List<SeqVertex> vertices = new ArrayList<>(graph.vertexSet());
        for (SeqVertex vertex : vertices) {
            out.println("cleaned-vertex " + vertex.getSequenceString());
        }
        for (BaseEdge edge : graph.edgeSet()) {
            out.println("cleaned-edge " + vertices.indexOf(graph.getEdgeSource(edge)) + " " + vertices.indexOf(graph.getEdgeTarget(edge)) + " "
                    + edge.getMultiplicity() + " " + edge.isRef());
        }
        for (KBestHaplotype<SeqVertex, BaseEdge> path : new GraphBasedKBestHaplotypeFinder<SeqVertex, BaseEdge>(graph, graph.getReferenceSourceVertex(),
                graph.getReferenceSinkVertex()).findBestHaplotypes(128)) {
            out.println("path " + new String(path.getBases()) + " " + Long.toHexString(Double.doubleToLongBits(path.score())));
        }
    }

    public static void main(String[] arguments) {
        out = new PrintStream(new BufferedOutputStream(System.out, 1 << 16));
        long first = Long.parseLong(arguments[0]);
        for (long seed = first; seed < first + Long.parseLong(arguments[1]); seed++) {
            print(seed);
        }
        out.flush();
    }
}
