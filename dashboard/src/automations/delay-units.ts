/** A wait in the unit that people would say. The API stores seconds. */
export const UNITS = { minutes: 60, hours: 3600, days: 86_400, weeks: 604_800, seconds: 1 } as const
export type DelayUnit = keyof typeof UNITS

const LARGEST_FIRST: readonly DelayUnit[] = ['weeks', 'days', 'hours', 'minutes']

/** The largest unit that divides it. */
export function readDelay(seconds: unknown): { readonly amount: number; readonly unit: DelayUnit } {
  if (typeof seconds !== 'number' || seconds <= 0) return { amount: 0, unit: 'days' }
  const unit = LARGEST_FIRST.find((one) => seconds % UNITS[one] === 0) ?? 'seconds'
  return { amount: seconds / UNITS[unit], unit }
}
