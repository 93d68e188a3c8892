/**
 * Finds what has no effect in a shaping file that is well formed: rules and patterns that can never be reached, for an earlier one takes all
 * that they would. It says nothing wrong about a rule that can match; of two patterns it knows that one takes all of the other only where
 * that is certain (the same pattern, none at all, or a plain text that the other matches).
 */
import { FALLBACK, OWN_HOSTS, readShaping, type Place, type Problem, type ReplyRule, type Shaping } from './file.ts'
import { covers } from './match.ts'
import { matches } from './pattern.ts'

/** Everything wrong with a shaping file, by line; empty when it may be used. */
export function lintShaping(text: string): Problem[] {
  const read = readShaping(text)
  if (read.kind === 'wrong') return [...read.problems]
  const { shaping, lineOf } = read
  return [...lintReceivers(shaping, lineOf), ...lintRules(shaping, lineOf)].toSorted((one, other) => one.line - other.line)
}

function lintReceivers({ receivers }: Shaping, lineOf: Place): Problem[] {
  return receivers.flatMap(({ name, mx, domains }, at): Problem[] => {
    const path = ['receivers', name]
    const isSpecial = name === FALLBACK || name === OWN_HOSTS
    if (isSpecial && mx.length + domains.length > 0) return [{ line: lineOf(path), text: `receiver ${name} is not found by hosts or domains` }]
    if (!isSpecial && mx.length + domains.length === 0) return [{ line: lineOf(path), text: `receiver ${name} has neither mx nor domains: it is never met` }]
    return (['mx', 'domains'] as const).flatMap((kind) => receivers[at]?.[kind].flatMap((pattern, place): Problem[] => {
      const earlier = receivers.slice(0, at + 1).find((other) => other[kind].some((one, i) => (other.name !== name || i < place) && isWithin(one, pattern)))
      return earlier === undefined ? [] : [{ line: lineOf([...path, kind, place]), text: `${pattern} of ${name} is never reached: ${earlier.name} comes before it and takes it` }]
    }) ?? [])
  })
}

function isWithin(wide: string, narrow: string): boolean {
  return wide === narrow || covers(wide, narrow.replace(/^\*\./, 'x.'))
}

function lintRules({ receivers, rules }: Shaping, lineOf: Place): Problem[] {
  const known = new Set(receivers.map(({ name }) => name))
  return rules.flatMap((rule, at): Problem[] => {
    const line = lineOf(['rules', at])
    const strangers = rule.receivers.filter((name) => !known.has(name))
    const named = rules.slice(0, at).some(({ name }) => name === rule.name) ? [{ line, text: `rule ${rule.name}: the name is taken by an earlier rule` }] : []
    const unknown = strangers.map((name) => ({ line: lineOf(['rules', at, 'receiver']), text: `rule ${rule.name}: there is no receiver ${name}` }))
    const taker = rules.slice(0, at).find((earlier) => takesAll(earlier, rule))
    const shadowed = taker === undefined ? [] : [{ line, text: `rule ${rule.name} can never match: rule ${taker.name} comes before it and takes all that it would` }]
    return [...named, ...unknown, ...shadowed]
  })
}

/** Whatever `rule` matches, `earlier` matches too. */
function takesAll(earlier: ReplyRule, rule: ReplyRule): boolean {
  return hasAll(earlier.receivers, rule.receivers) && hasAll(earlier.codes, rule.codes) && hasAll(earlier.enhanced, rule.enhanced) && takesText(earlier.text, rule.text)
}

/** An empty list stands for everything. */
function hasAll<T>(wide: readonly T[], narrow: readonly T[]): boolean {
  return wide.length === 0 || (narrow.length > 0 && narrow.every((one) => wide.includes(one)))
}

/** A pattern without special characters (escaped ones are plain) is found in every text it matches; so is what matches it unanchored. */
function takesText(wide: RegExp | null, narrow: RegExp | null): boolean {
  if (wide === null) return true
  if (narrow === null) return false
  if (wide.source === narrow.source) return true
  const isAnchored = /[\^$]|\\b/i.test(wide.source)
  const plain = narrow.source.replaceAll(/\\([^a-z0-9])/gi, '$1')
  const isPlain = !/(?<!\\)[.*+?^$()[\]{}|]|\\[a-z0-9]/i.test(narrow.source)
  return isPlain && !isAnchored && matches(wide, plain)
}
