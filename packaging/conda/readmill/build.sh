#!/bin/bash
set -euo pipefail

# The linker finds zlib here.
export LIBRARY_PATH="${PREFIX}/lib"

cargo-bundle-licenses --format yaml --output "${SRC_DIR}/THIRDPARTY.yml"

# On x86-64, align chooses the instructions when it runs; without the feature, it needs AVX2.
features=()
if [[ "${target_platform:?}" == linux-64 ]]; then
    features=(--features old-processors)
fi
cargo install --locked --no-track --path . --root "${PREFIX}" "${features[@]}"

readmill="${PREFIX}/bin/readmill"
"${readmill}" man "${PREFIX}/share/man/man1"
mkdir -p "${PREFIX}/share/bash-completion/completions" "${PREFIX}/share/zsh/site-functions" \
    "${PREFIX}/share/fish/vendor_completions.d"
"${readmill}" completions bash >"${PREFIX}/share/bash-completion/completions/readmill"
"${readmill}" completions zsh >"${PREFIX}/share/zsh/site-functions/_readmill"
"${readmill}" completions fish >"${PREFIX}/share/fish/vendor_completions.d/readmill.fish"
