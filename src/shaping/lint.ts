/**
 * Finds what has no effect in a shaping file that is well formed: rules and patterns that can never be reached, for an earlier one takes
 * all that they would. It says nothing wrong about a rule that can match; of two patterns it knows that one takes all of the other only where
 * that is certain (the same pattern, none at all, or a plain text that the other matches).
 */
import { FALLBACK, OWN_HOSTS, readShaping, type Place, type Problem, type Receiver, type ReplyRule, type Shaping } from './file.ts'
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
  return receivers.flatMap((receiver, at): Problem[] => {
    const { name, mx, domains } = receiver
    const line = lineOf(['receivers', name])
    const isSpecial = name === FALLBACK || name === OWN_HOSTS
    const count = mx.length + domains.length
    if (isSpecial && count > 0) return [{ line, text: `receiver ${name} is not found by hosts or domains` }]
    if (!isSpecial && count === 0) return [{ line, text: `receiver ${name} has neither mx nor domains: it is never met` }]
    return [...lintHosts(receivers.slice(0, at), receiver, 'mx', lineOf), ...lintHosts(receivers.slice(0, at), receiver, 'domains', lineOf)]
  })
}

/** Hosts that an earlier receiver takes, or that stand there twice. */
function lintHosts(earlier: readonly Receiver[], receiver: Receiver, kind: 'mx' | 'domains', lineOf: Place): Problem[] {
  return receiver[kind].flatMap((pattern, at): Problem[] => {
    const before = [...earlier, { ...receiver, [kind]: receiver[kind].slice(0, at) }]
    const taker = before.find((one) => one[kind].some((wide) => isWithin(wide, pattern)))
    if (taker === undefined) return []
    const text = `${pattern} of ${receiver.name} is never reached: ${taker.name} comes before it and takes it`
    return [{ line: lineOf(['receivers', receiver.name, kind, at]), text }]
  })
}

function isWithin(wide: string, narrow: string): boolean {
  return wide === narrow || covers(wide, narrow.replace(/^\*\./, 'x.'))
}

function lintRules({ receivers, rules }: Shaping, lineOf: Place): Problem[] {
  const known = new Set(receivers.map(({ name }) => name))
  return rules.flatMap((rule, at): Problem[] => {
    const line = lineOf(['rules', at])
    const earlier = rules.slice(0, at)
    const taker = earlier.find((one) => takesAll(one, rule))
    const strangers = rule.receivers.filter((name) => !known.has(name))
    return [
      ...earlier.some(({ name }) => name === rule.name) ? [{ line, text: `rule ${rule.name}: the name is taken by an earlier rule` }] : [],
      ...strangers.map((name) => ({ line: lineOf(['rules', at, 'receiver']), text: `rule ${rule.name}: there is no receiver ${name}` })),
      ...taker === undefined ? [] : [{ line, text: `rule ${rule.name} can never match: rule ${taker.name} comes before it and takes all that it would` }],
    ]
  })
}

/** Whatever `rule` matches, `earlier` matches too. */
function takesAll(earlier: ReplyRule, rule: ReplyRule): boolean {
  return hasAll(earlier.receivers, rule.receivers) && hasAll(earlier.codes, rule.codes) && hasAll(earlier.enhanced, rule.enhanced)
    && takesText(earlier.text, rule.text)
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
