/** Contrast of colours (WCAG 2.2, 1.4.3): pure. Colours are `#rrggbb`. */

/** For text of normal size, level AA. */
export const LEAST_CONTRAST = 4.5
const WHITE = '#ffffff'
const BLACK = '#1b1b1b'

function channelsOf(colour: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))
}

function luminanceOf(colour: string): number {
  const [red = 0, green = 0, blue = 0] = channelsOf(colour).map((channel) => {
    const share = channel / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** From 1 to 21. */
export function contrastOf(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminanceOf(one), luminanceOf(other)].toSorted((a, b) => b - a)
  return (light + 0.05) / (dark + 0.05)
}

/** White or black, whichever is easier to read on the colour. */
export function textColourOn(colour: string): string {
  return contrastOf(colour, WHITE) >= contrastOf(colour, BLACK) ? WHITE : BLACK
}

/** The colour, lightened until text of it can be read on a dark background. */
export function lightenedFor(colour: string, background: string): string {
  for (let share = 0; share < 1; share += 0.1) {
    const mixed = channelsOf(colour).map((channel) => Math.round(channel + (255 - channel) * share))
    const found = `#${mixed.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`
    if (contrastOf(found, background) >= LEAST_CONTRAST) return found
  }
  return WHITE
}
