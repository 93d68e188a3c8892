/** Numbers of evidence as text: shares and counts. Pure. */

export function numberText(count: number): string {
  return count.toLocaleString('en-US')
}

/** `0.34 % (12 of 3,502)` */
export function shareText(part: number, whole: number): string {
  const share = whole === 0 ? 0 : (part / whole) * 100
  return `${Number(share.toFixed(share < 1 ? 2 : 1))} % (${numberText(part)} of ${numberText(whole)})`
}
