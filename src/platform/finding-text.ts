/**
 * What a check found and what to do, as one English text, with the translations of the sentences in it. A check says a
 * coded sentence, several, or text without a code: what another program said, or what only a command shows. Pure.
 */
import { textsOf, translationOf, type CodedText, type Translation } from './coded-text.ts'

export const FINDING_TEXTS = {
  about: '{subject}:',
  verbatim: '{text}',
} as const

const findingText = textsOf('text', FINDING_TEXTS)

export interface FindingText {
  readonly text: string
  /** In their order; empty: nothing in it has a code. */
  readonly sentences: readonly Translation[]
}

export type Said = string | CodedText | FindingText

export interface CheckFinding<Status extends string> {
  readonly status: Status
  readonly detail: string
  /** What to do; empty if nothing is wrong. */
  readonly todo: string
  /** The sentences of both; absent: they have no codes. */
  readonly sentences?: Readonly<Record<'detail' | 'todo', readonly Translation[]>>
}

export function createFinding<Status extends string>(
  status: Status,
  detail: Said,
  todo: Said = '',
): CheckFinding<Status> {
  const [found, advice] = [say(detail), say(todo)]
  const hasCodes = found.sentences.length > 0 || advice.sentences.length > 0
  return {
    status,
    detail: found.text,
    todo: advice.text,
    ...(hasCodes ? { sentences: { detail: found.sentences, todo: advice.sentences } } : {}),
  }
}

export function detailOf({ detail, sentences }: CheckFinding<string>): FindingText {
  return { text: detail, sentences: sentences?.detail ?? [] }
}

export function todoOf({ todo, sentences }: CheckFinding<string>): FindingText {
  return { text: todo, sentences: sentences?.todo ?? [] }
}

/** Each text once; empty ones are left out. */
export function joinSaid(parts: readonly Said[], separator = '; '): FindingText {
  const texts = new Map(
    parts
      .map(say)
      .filter(({ text }) => text !== '')
      .map((one) => [one.text, one]),
  )
  return { text: [...texts.keys()].join(separator), sentences: sentencesOf([...texts.values()]) }
}

/** `subject: what is said about it`. */
export function sayAbout(subject: string, what: Said, separator = ': '): FindingText {
  const { text, sentences } = say(what)
  return {
    text: `${subject}${separator}${text}`,
    sentences: sentences.length === 0 ? [] : [aboutSentence(subject), ...sentences],
  }
}

/** Stands before the sentences about the subject. */
export function aboutSentence(subject: string): Translation {
  return translationOf(findingText('about', { subject }))
}

function say(given: Said): FindingText {
  if (typeof given === 'string') return { text: given, sentences: [] }
  return 'sentences' in given ? given : { text: given.text, sentences: [translationOf(given)] }
}

/** Beside sentences with a code, text without one stays as it is. */
function sentencesOf(texts: readonly FindingText[]): readonly Translation[] {
  if (texts.every(({ sentences }) => sentences.length === 0)) return []
  return texts.flatMap(({ text, sentences }) =>
    sentences.length > 0 ? sentences : [translationOf(findingText('verbatim', { text }))],
  )
}
