/** Contrast of colours in the form `#rrggbb` (WCAG 2.2). */

/** Below it, text is hard to read. */
export const MIN_CONTRAST = 4.5

export function contrastOf(a: string, b: string): number {
  const [light, dark] = [luminance(a), luminance(b)].toSorted((one, other) => other - one)
  return ((light ?? 0) + 0.05) / ((dark ?? 0) + 0.05)
}

/** White or nearly black, whichever is easier to read on the colour. */
export function readableOn(background: string): string {
  return contrastOf('#ffffff', background) >= contrastOf('#111827', background) ? '#ffffff' : '#111827'
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(color.slice(at, at + 2), 16) / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
