/**
 * The style of a branding: a few rules after those of the page. Colours are `#rrggbb`, which the API and this file both
 * check, so that nothing else of a customer gets into the style element. A branding with its own background has no dark
 * mode; otherwise its accent is lightened there until it can be read.
 */
import type { BrandColours } from '#src/branding/branding.ts'
import { contrastOf, lightenedFor, textColourOn } from '#src/branding/contrast.ts'

const COLOUR = /^#[0-9a-f]{6}$/
const BACKGROUND = '#ffffff'
const TEXT = '#1b1b1b'
const DARK_BACKGROUND = '#16181b'
/** The colours of error messages, on light and dark backgrounds. */
const PROBLEM = { onLight: '#8b0a03', onDark: '#ffb4ab' } as const

/** Empty for the colours of this service. */
export function brandStyle({ accentColor, backgroundColor, textColor }: BrandColours): string {
  const given = [accentColor, backgroundColor, textColor].filter((colour) => colour !== null)
  if (given.length === 0 || !given.every((colour) => COLOUR.test(colour))) return ''
  const accent = accentColor ?? '#1a4480'
  if (backgroundColor === null && textColor === null)
    return accentRules(accent) + dark(accentRules(lightenedFor(accent, DARK_BACKGROUND)))
  const [background, text] = [backgroundColor ?? BACKGROUND, textColor ?? TEXT]
  const { onLight, onDark } = PROBLEM
  const problem = contrastOf(onLight, background) > contrastOf(onDark, background) ? onLight : onDark
  const rules =
    accentRules(accent) +
    `body{background:${background};color:${text}}input{border-color:${text}}.wrong{color:${problem}}` +
    `.problems{border-color:${problem}}`
  return `${rules}:root{color-scheme:light}${dark(rules)}`
}

function accentRules(accent: string): string {
  const text = textColourOn(accent)
  return (
    `a{color:${accent}}button{background:${accent};border-color:${accent};color:${text}}` +
    `input:focus-visible,button:focus-visible,a:focus-visible{outline-color:${accent}}`
  )
}

function dark(rules: string): string {
  return `@media (prefers-color-scheme:dark){${rules}}`
}
