/** Counts in words: `1 recipient`, `2 recipients`, `12,000 recipients`. Pure. */

/** `plural` is the noun with an s unless it is given. */
export function countText(count: number, noun: string, plural = `${noun}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? noun : plural}`
}
