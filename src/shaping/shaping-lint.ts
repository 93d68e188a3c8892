/**
 * Finds lines without effect in a well-formed shaping file: rules and patterns that can never match because earlier
 * ones match everything they would, alone or together. It never reports a rule that can match. It assumes that one
 * pattern covers another only if that is certain: the same pattern, no pattern at all, or a literal text that the other
 * matches.
 */
import {
  FALLBACK,
  TRANSPORT_MAP,
  type LineOf,
  type ShapingProblem,
  type ShapingReceiver,
  type ShapingResult,
  type ReplyRule,
  type Shaping,
} from './shaping-file.ts'
import { coversHost } from './rule-match.ts'
import { compilePattern, examinedPart, type ReplyPattern } from './reply-pattern.ts'

/** All problems of a shaping file, by line; empty if it is valid. */
export function lintShaping(read: ShapingResult): ShapingProblem[] {
  if (read.kind === 'wrong') return [...read.problems]
  const { shaping, lineOf } = read
  return [...lintReceivers(shaping, lineOf), ...lintRules(shaping, lineOf)].toSorted(
    (one, other) => one.line - other.line,
  )
}

function lintReceivers({ receivers }: Shaping, lineOf: LineOf): ShapingProblem[] {
  return receivers.flatMap((receiver, at): ShapingProblem[] => {
    const { name, mx, domains } = receiver
    const line = lineOf(['receivers', name])
    const isSpecial = name === FALLBACK || name === TRANSPORT_MAP
    const count = mx.length + domains.length
    if (isSpecial && count > 0) return [{ line, text: `receiver ${name} must not have mx or domains` }]
    if (!isSpecial && count === 0)
      return [{ line, text: `receiver ${name} has neither mx nor domains, so it never matches` }]
    return [
      ...lintHosts(receivers.slice(0, at), receiver, 'mx', lineOf),
      ...lintHosts(receivers.slice(0, at), receiver, 'domains', lineOf),
    ]
  })
}

/** Hosts that an earlier receiver matches, or that are listed twice. */
function lintHosts(
  earlier: readonly ShapingReceiver[],
  receiver: ShapingReceiver,
  kind: 'mx' | 'domains',
  lineOf: LineOf,
): ShapingProblem[] {
  return receiver[kind].flatMap((pattern, at): ShapingProblem[] => {
    const before = [...earlier, { ...receiver, [kind]: receiver[kind].slice(0, at) }]
    const covering = before.find((one) => one[kind].some((wide) => isWithin(wide, pattern)))
    if (covering === undefined) return []
    const text = `${pattern} of ${receiver.name} never matches: the earlier ${covering.name} covers it`
    return [{ line: lineOf(['receivers', receiver.name, kind, at]), text }]
  })
}

function isWithin(wide: string, narrow: string): boolean {
  return wide === narrow || coversHost(wide, narrow.replace(/^\*\./, 'x.'))
}

function lintRules({ receivers, rules }: Shaping, lineOf: LineOf): ShapingProblem[] {
  const known = new Set(receivers.map(({ name }) => name))
  return rules.flatMap((rule, at): ShapingProblem[] => {
    const line = lineOf(['rules', at])
    const earlier = rules.slice(0, at)
    const covering = coveringRules(earlier, rule, known)
    const unknown = rule.receivers.filter((name) => !known.has(name))
    return [
      ...(earlier.some(({ name }) => name === rule.name)
        ? [{ line, text: `rule ${rule.name}: an earlier rule has the same name` }]
        : []),
      ...unknown.map((name) => ({
        line: lineOf(['rules', at, 'receiver']),
        text: `rule ${rule.name}: no receiver named ${name} exists`,
      })),
      ...(covering === null ? [] : [{ line, text: `rule ${rule.name} can never match: ${coveringText(covering)}` }]),
      ...(canMatch(rule.text)
        ? []
        : [{ line, text: `rule ${rule.name} can never match: ^ or $ stands in the middle of its text` }]),
    ]
  })
}

function coveringText(covering: readonly string[]): string {
  const [first = '', ...others] = covering
  if (others.length === 0) return `the earlier rule ${first} covers it`
  return `the earlier rules ${first} and ${others.join(' and ')} cover it`
}

/** The earlier rules that together match whatever this one matches; null if this one can match something. */
function coveringRules(
  earlier: readonly ReplyRule[],
  rule: ReplyRule,
  known: ReadonlySet<string>,
): readonly string[] | null {
  const whole = earlier.find((one) => coversRule(one, rule))
  if (whole !== undefined) return [whole.name]
  const covering = new Set<string>()
  for (const piece of splitRule(rule, known)) {
    const match = earlier.find((one) => coversRule(one, piece))
    if (match === undefined) return null
    covering.add(match.name)
  }
  return [...covering]
}

/** Splits a rule into rules with one receiver, one code and one alternative of the pattern each. */
function splitRule(rule: ReplyRule, known: ReadonlySet<string>): ReplyRule[] {
  const receivers = rule.receivers.length === 0 ? [...known] : rule.receivers
  return receivers
    .map((receiver) => ({ ...rule, receivers: [receiver] }))
    .flatMap((one) => splitList(rule.codes).map((codes) => ({ ...one, codes })))
    .flatMap((one) => splitList(rule.enhanced).map((enhanced) => ({ ...one, enhanced })))
    .flatMap((one) => alternativesOf(rule.text).map((text) => ({ ...one, text })))
}

function splitList<T>(list: readonly T[]): (readonly T[])[] {
  return list.length === 0 ? [list] : list.map((one) => [one])
}

/** The alternatives of a pattern: the text between the bars outside groups and classes. */
const ALTERNATIVE = /(?:\\.|\[(?:\\.|[^\]\\])*\]|[^|[\\])+/gu

function alternativesOf(pattern: ReplyPattern | null): readonly (ReplyPattern | null)[] {
  // an empty alternative matches everywhere
  if (pattern === null || /\(|^\||\|\||\|$/.test(pattern.source.replaceAll(LITERAL, 'x'))) return [pattern]
  return (pattern.source.match(ALTERNATIVE) ?? []).map(compilePattern)
}

/** Characters without special meaning: escaped ones and those in a class. */
const LITERAL = /\\.|\[(?:\\.|[^\]\\])*\]/gu

/** False if every alternative has a letter before its ^ or after its $. */
function canMatch(pattern: ReplyPattern | null): boolean {
  return alternativesOf(pattern).some(
    (one) => one === null || !/[\w ]\^|\$[\w ]/.test(one.source.replaceAll(LITERAL, 'x')),
  )
}

/** True if `earlier` matches whatever `rule` matches. */
function coversRule(earlier: ReplyRule, rule: ReplyRule): boolean {
  return (
    coversList(earlier.receivers, rule.receivers) &&
    coversList(earlier.codes, rule.codes) &&
    coversList(earlier.enhanced, rule.enhanced) &&
    coversText(earlier.text, rule.text)
  )
}

/** An empty list stands for everything. */
function coversList<T>(wide: readonly T[], narrow: readonly T[]): boolean {
  return wide.length === 0 || (narrow.length > 0 && narrow.every((one) => wide.includes(one)))
}

/**
 * True if `wide` matches every text that `narrow` matches. That is certain if `narrow` is literal text that `wide`
 * matches without an anchor.
 */
function coversText(wide: ReplyPattern | null, narrow: ReplyPattern | null): boolean {
  if (wide === null) return true
  if (narrow === null) return false
  if (alternativesOf(wide).some((one) => one?.source === narrow.source) || wide.source === narrow.source) return true
  const isAnchored = /[\^$]|\\b/i.test(wide.source)
  const plain = narrow.source.replaceAll(/\\([^a-z0-9])/gi, '$1')
  const isPlain = !/(?<!\\)[.*+?^$()[\]{}|]|\\[a-z0-9]/i.test(narrow.source)
  return isPlain && !isAnchored && wide.matches(examinedPart(plain))
}
