/** Numbers of evidence as text: shares and counts. Pure. */

export function numberText(count: number): string {
  return count.toLocaleString('en-US')
}

/** The parameters of a share, such as `0.34 % (12 of 3,502)`. */
export function shareOf(part: number, whole: number): Readonly<Record<'percent' | 'part' | 'whole', string>> {
  const share = whole === 0 ? 0 : (part / whole) * 100
  const percent = String(Number(share.toFixed(share < 1 ? 2 : 1)))
  return { percent, part: numberText(part), whole: numberText(whole) }
}
