class Readmill < Formula
  desc "Sequencing reads in, analysis-ready reads out, in one pass"
  homepage "https://github.com/readmill/readmill"
  url "https://github.com/readmill/readmill/archive/refs/tags/v0.2.0.tar.gz"
  # The checksum of the release's archive. It is not known before the tag exists.
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license any_of: ["MIT", "Apache-2.0"]
  head "https://github.com/readmill/readmill.git", branch: "main"

  depends_on "rust" => :build

  on_linux do
    depends_on "zlib"
  end

  def install
    system "cargo", "install", *std_cargo_args
    generate_completions_from_executable(bin/"readmill", "completions")
    system bin/"readmill", "man", man1
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/readmill --version")
    system bin/"readmill", "demo", "--fastq", "--pairs", "2000", "-o", testpath/"demo"
    system bin/"readmill", "quickcheck", testpath/"demo/prepared.bam"
  end
end
