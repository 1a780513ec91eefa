"""Writes a text with TeX as plain characters, for what can show no formulas: titles, previews, the index."""

from __future__ import annotations

import re

CHARACTERS = """
alpha α beta β gamma γ delta δ varepsilon ε epsilon ε zeta ζ eta η theta θ kappa κ lambda λ mu μ nu
ν xi ξ pi π rho ρ sigma σ tau τ varphi φ chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ Sigma
Σ Phi Φ ell ℓ nabla ∇ partial ∂ infty ∞ sum ∑ int ∫ le ≤ ge ≥ ne ≠ neq ≠ approx ≈ sim ~ in ∈ notin ∉
to → mapsto ↦ leftarrow ← times × cdot · pm ± mp ∓ cup ∪ setminus ∖ circ ∘ dots … perp ⊥ top ᵀ
propto ∝ ll ≪ gg ≫ emptyset ∅ star * dagger † sqrt √ langle ⟨ rangle ⟩ lVert ‖ rVert ‖ lvert | rvert
| angle ∠ prime ′ bar ¯ hat ^ tilde ~ dot ˙
"""
NAMES, SHOWN = CHARACTERS.split()[::2], CHARACTERS.split()[1::2]
SYMBOLS = dict(zip(NAMES, SHOWN, strict=True)) | {"quad": " ", "qquad": " ", "|": "‖"}
LAYOUT = re.compile(
    r"\\(?:begin|end)\{\w+\}|\\(?:[Bb]igg?[lr]?|left|right|rm|textstyle)(?![A-Za-z])|\\[\\!,; ]|&"
)
NAMED = re.compile(r"\\(?:operatorname|text|mathrm|mathbf|mathbb|mathcal)\s*(?:\{([^{}]*)\}|(\w))")
SCRIPT = re.compile(r"([_^√¯˙~])\s*\{([^{}]*)\}")
FRACTION = re.compile(r"\\[td]?frac\s*(\{[^{}]*\}|\w)\s*(\{[^{}]*\}|\w)")
COMMAND = re.compile(r"\\(?![td]?frac)([A-Za-z]+|\|)\s*")


def plain(text: str) -> str:
    """A text with TeX as one line of characters, as far as that goes: fractions get a slash."""
    text = NAMED.sub(lambda found: found[1] or found[2], LAYOUT.sub(" ", text))
    text = text.replace(r"\{", "❴").replace(r"\}", "❵")
    text = COMMAND.sub(lambda found: SYMBOLS.get(found[1], f" {found[1]} "), text)
    before = ""
    while text != before:
        before = text
        text = SCRIPT.sub(lambda found: found[1] + bracketed(found[2]), text)
        text = FRACTION.sub(lambda found: f"{bracketed(found[1])}/{bracketed(found[2])}", text)
    text = re.sub(r"[{}$]|(?<![\^(])\*", "", text).replace("❴", "{").replace("❵", "}")
    return re.sub(r"(?<=\() | (?=[_^),.;:])", "", " ".join(text.split()))


def bracketed(tex: str) -> str:
    """What stands above, below or in a fraction, in brackets if it is more than a symbol."""
    inside = tex.removeprefix("{").removesuffix("}").strip()
    return inside if re.fullmatch(r"[^\W_]+|[*+-]", inside) else f"({inside})"
