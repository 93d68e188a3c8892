/**
 * Finds what has no effect in a shaping file that is well formed: rules and patterns that can never be reached, for earlier ones take all
 * that they would, alone or together. It says nothing wrong about a rule that can match; of two patterns it knows that one takes all of the
 * other only where that is certain (the same pattern, none at all, or a plain text that the other matches).
 */
import {
  FALLBACK,
  OWN_HOSTS,
  readShaping,
  type Place,
  type Problem,
  type Receiver,
  type ReplyRule,
  type Shaping,
} from './shaping-file.ts'
import { covers } from './rule-match.ts'
import { compilePattern, examine, type ReplyPattern } from './reply-pattern.ts'

/** Everything wrong with a shaping file, by line; empty when it may be used. */
export function lintShaping(text: string): Problem[] {
  const read = readShaping(text)
  if (read.kind === 'wrong') return [...read.problems]
  const { shaping, lineOf } = read
  return [...lintReceivers(shaping, lineOf), ...lintRules(shaping, lineOf)].toSorted(
    (one, other) => one.line - other.line,
  )
}

function lintReceivers({ receivers }: Shaping, lineOf: Place): Problem[] {
  return receivers.flatMap((receiver, at): Problem[] => {
    const { name, mx, domains } = receiver
    const line = lineOf(['receivers', name])
    const isSpecial = name === FALLBACK || name === OWN_HOSTS
    const count = mx.length + domains.length
    if (isSpecial && count > 0) return [{ line, text: `receiver ${name} is not found by hosts or domains` }]
    if (!isSpecial && count === 0)
      return [{ line, text: `receiver ${name} has neither mx nor domains: it is never met` }]
    return [
      ...lintHosts(receivers.slice(0, at), receiver, 'mx', lineOf),
      ...lintHosts(receivers.slice(0, at), receiver, 'domains', lineOf),
    ]
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
    const takers = takersOf(earlier, rule, known)
    const strangers = rule.receivers.filter((name) => !known.has(name))
    return [
      ...(earlier.some(({ name }) => name === rule.name)
        ? [{ line, text: `rule ${rule.name}: the name is taken by an earlier rule` }]
        : []),
      ...strangers.map((name) => ({
        line: lineOf(['rules', at, 'receiver']),
        text: `rule ${rule.name}: there is no receiver ${name}`,
      })),
      ...(takers === null ? [] : [{ line, text: `rule ${rule.name} can never match: ${takersText(takers)}` }]),
      ...(canBeFound(rule.text)
        ? []
        : [{ line, text: `rule ${rule.name} can never match: no text has its beginning or end in the middle` }]),
    ]
  })
}

function takersText(takers: readonly string[]): string {
  const [first = '', ...others] = takers
  if (others.length === 0) return `rule ${first} comes before it and takes all that it would`
  return `rules ${first} and ${others.join(' and ')} come before it and take all that it would`
}

/** The earlier rules that take, together, whatever this one matches; null where something is left for it. */
function takersOf(
  earlier: readonly ReplyRule[],
  rule: ReplyRule,
  known: ReadonlySet<string>,
): readonly string[] | null {
  const whole = earlier.find((one) => takesAll(one, rule))
  if (whole !== undefined) return [whole.name]
  const takers = new Set<string>()
  for (const piece of piecesOf(rule, known)) {
    const taker = earlier.find((one) => takesAll(one, piece))
    if (taker === undefined) return null
    takers.add(taker.name)
  }
  return [...takers]
}

/** The same as several rules of one receiver, one code and one alternative of the pattern each. */
function piecesOf(rule: ReplyRule, known: ReadonlySet<string>): ReplyRule[] {
  const receivers = rule.receivers.length === 0 ? [...known] : rule.receivers
  return receivers
    .map((receiver) => ({ ...rule, receivers: [receiver] }))
    .flatMap((one) => singly(rule.codes).map((codes) => ({ ...one, codes })))
    .flatMap((one) => singly(rule.enhanced).map((enhanced) => ({ ...one, enhanced })))
    .flatMap((one) => alternativesOf(rule.text).map((text) => ({ ...one, text })))
}

function singly<T>(list: readonly T[]): (readonly T[])[] {
  return list.length === 0 ? [list] : list.map((one) => [one])
}

/** What stands between the bars of a pattern that are in no group and no class. */
const ALTERNATIVE = /(?:\\.|\[(?:\\.|[^\]\\])*\]|[^|[\\])+/gu

function alternativesOf(pattern: ReplyPattern | null): readonly (ReplyPattern | null)[] {
  // an alternative that is empty is found everywhere
  if (pattern === null || /\(|^\||\|\||\|$/.test(pattern.source.replaceAll(PLAIN_SIGN, 'x'))) return [pattern]
  return (pattern.source.match(ALTERNATIVE) ?? []).map(compilePattern)
}

/** Signs that stand for themselves: escaped ones and those of a class. */
const PLAIN_SIGN = /\\.|\[(?:\\.|[^\]\\])*\]/gu

/** False where each alternative has a letter before its beginning, or behind its end. */
function canBeFound(pattern: ReplyPattern | null): boolean {
  return alternativesOf(pattern).some(
    (one) => one === null || !/[\w ]\^|\$[\w ]/.test(one.source.replaceAll(PLAIN_SIGN, 'x')),
  )
}

/** Whatever `rule` matches, `earlier` matches too. */
function takesAll(earlier: ReplyRule, rule: ReplyRule): boolean {
  return (
    hasAll(earlier.receivers, rule.receivers) &&
    hasAll(earlier.codes, rule.codes) &&
    hasAll(earlier.enhanced, rule.enhanced) &&
    takesText(earlier.text, rule.text)
  )
}

/** An empty list stands for everything. */
function hasAll<T>(wide: readonly T[], narrow: readonly T[]): boolean {
  return wide.length === 0 || (narrow.length > 0 && narrow.every((one) => wide.includes(one)))
}

/** A pattern without special characters (escaped ones are plain) is found in every text it matches; so is what matches it unanchored. */
function takesText(wide: ReplyPattern | null, narrow: ReplyPattern | null): boolean {
  if (wide === null) return true
  if (narrow === null) return false
  if (alternativesOf(wide).some((one) => one?.source === narrow.source) || wide.source === narrow.source) return true
  const isAnchored = /[\^$]|\\b/i.test(wide.source)
  const plain = narrow.source.replaceAll(/\\([^a-z0-9])/gi, '$1')
  const isPlain = !/(?<!\\)[.*+?^$()[\]{}|]|\\[a-z0-9]/i.test(narrow.source)
  return isPlain && !isAnchored && wide.matches(examine(plain))
}
