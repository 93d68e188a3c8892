/** Says which values are accepted, and which one was probably meant. Pure. */
import { nearestName } from './nearest-name.ts'

/** `must be one of tier, state; did you mean tier?` */
export function oneOfText(choices: readonly string[], given: unknown): string {
  const [only] = choices
  return `must be ${choices.length === 1 ? only : `one of ${choices.join(', ')}`}${meantText(choices, given)}`
}

/** `; did you mean tier?`, or nothing. */
export function meantText(choices: Iterable<string>, given: unknown): string {
  const nearest = typeof given === 'string' ? nearestName(given, choices) : null
  return nearest === null ? '' : `; did you mean ${nearest}?`
}
