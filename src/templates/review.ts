/**
 * What an author may want to know of a template before it is sent: a list of findings with their places, a rule each (rules.ts). Some of
 * them keep a campaign from being sent. Runs only in the workshop's thread. Pure.
 */
import { textFromHtml } from '#src/mail/html-text.ts'
import { inspectWritten } from './check.ts'
import type { Engine } from './engine.ts'
import { findExpressions, lineAt, maskExpressions } from './expressions.ts'
import { finish, type Finished, type Written } from './compile-template.ts'
import { mayBeInlined } from './inline.ts'
import { judgePrinted, findNames, type NameUse } from './variable-names.ts'
import type { Partials } from './partials.ts'
import { RULES, type Rule } from './rules.ts'
import type { Source } from './source.ts'
import { readTags } from './tags.ts'
import { VARIABLE_NAMES, VARIABLES } from './variables.ts'

export interface Finding {
  readonly rule: Rule
  /** `error`: cannot be used; `campaign`: cannot be sent as a campaign. */
  readonly level: (typeof RULES)[Rule]['level']
  /** `subject`, `body`, `text`, or `partial <name>`; null: the whole. */
  readonly part: string | null
  readonly line: number | null
  readonly message: string
}

export interface Review {
  readonly findings: readonly Finding[]
  /** The text part: the author's, or what would be made of the HTML; with the sample data in. Null where it cannot be rendered. */
  readonly text: string | null
  /** Octets of the encoded HTML; 0 without one. */
  readonly size: number
}

export interface ReviewJob {
  readonly written: Written
  readonly partials: Partials
  /** Attributes that contacts have. */
  readonly attributes: readonly string[]
  /** Names that the author's sample data declare. */
  readonly declared: readonly string[]
  /** JSON to render it with. */
  readonly params: string
}

const CLIP = 102 * 1024
const MAX_FINDINGS = 200
const URL_NAMES: ReadonlySet<string> = new Set(['unsubscribeUrl', 'unsubscribe_url'])

interface Piece {
  readonly part: string
  readonly source: string
}

export async function review(engine: Engine, job: ReviewJob): Promise<Review> {
  const finished = await finish(engine, job.written, job.partials)
  if (!finished.ok) return { findings: [found('cannot-be-saved', finished.reason)], text: null, size: 0 }
  const pieces = listPieces(job, finished)
  const { findings, text, size } = judgeRendered(engine, finished, job.params)
  const all = [
    ...findings,
    ...judgeUnsubscribe(finished),
    ...judgeInlining(finished),
    ...pieces.flatMap((piece) => listUndeclared(piece, job)),
    ...pieces.filter(({ part }) => part !== 'subject' && part !== 'text').flatMap(listImages),
  ]
  return { findings: all.slice(0, MAX_FINDINGS), text, size }
}

function found(rule: Rule, message: string, part: string | null = null, line: number | null = null): Finding {
  return { rule, level: RULES[rule].level, part, line, message }
}

/** What people wrote, each with its own lines. */
function listPieces({ written: { subject, body, text }, partials }: ReviewJob, finished: Finished): Piece[] {
  return [
    { part: 'subject', source: subject },
    { part: 'body', source: body },
    ...(text === null ? [] : [{ part: 'text', source: text }]),
    ...finished.partials.map((name) => ({ part: `partial ${name}`, source: partials[name] ?? '' })),
  ]
}

function judgeRendered(engine: Engine, { subject, html, text }: Finished, params: string): Review {
  const rendered = engine.render({ key: 'finish', subject, html, text }, params)
  if (!rendered.ok) return { findings: [found('cannot-be-rendered', rendered.reason)], text: null, size: 0 }
  if (rendered.html === null) return { findings: [], text: rendered.text, size: 0 }
  const size = encodedSize(rendered.html)
  const kilobytes = (size / 1024).toFixed(1)
  return {
    findings: [
      ...(size > CLIP
        ? [
            found(
              'too-large',
              `the HTML has ${kilobytes} KB when it is rendered and encoded; Gmail shows 102 KB`,
              'body',
            ),
          ]
        : []),
      ...(rendered.text === null ? [found('missing-text-part', 'there is no text part; one is made of the HTML')] : []),
    ],
    text: rendered.text ?? textFromHtml(rendered.html),
    size,
  }
}

/** Of a finished source: whether a campaign may send it. */
export function judge(engine: Engine, source: Omit<Source, 'key'>): Finding[] {
  const broken = engine.compile({ key: 'judge', ...source })
  return broken === null ? judgeUnsubscribe(source) : [found('cannot-be-saved', broken)]
}

/** Text beside HTML may do without: whoever reads it has the list-unsubscribe of the mail program. */
function judgeUnsubscribe({ html, text }: Pick<Finished, 'html' | 'text'>): Finding[] {
  const source = html ?? text ?? ''
  const hidden = html === null ? [] : readTags(maskExpressions(html, findExpressions(html))).comments
  const printed = judgePrinted(
    source,
    URL_NAMES,
    (offset) => !hidden.some(({ start, end }) => offset >= start && offset < end),
  )
  if (printed === 'always') return []
  const where = printed === 'never' ? 'is missing' : 'stands only in a block that may be left out'
  return [found('missing-unsubscribe-url', `{{unsubscribeUrl}} ${where}`)]
}

function judgeInlining({ format, html }: Finished): Finding[] {
  return format !== 'html' || html === null || mayBeInlined(html)
    ? []
    : [found('css-not-inlined', 'CSS is not inlined: a block opens elements that it does not close')]
}

function listUndeclared({ part, source }: Piece, job: ReviewJob): Finding[] {
  inspectWritten(source)
  const attributes = new Set(job.attributes)
  const declared = new Set(job.declared)
  const seen = new Set<string>()
  return findNames(source)
    .filter(({ path }) => !isDeclared(path, attributes, declared))
    .flatMap(({ path, line }: NameUse) => {
      const name = path.join('.')
      if (seen.has(`${name} ${line}`)) return []
      seen.add(`${name} ${line}`)
      return [found('undeclared-variable', `nothing says what {{${name}}} is`, part, line)]
    })
}

function isDeclared(
  [name = '', member]: readonly string[],
  attributes: ReadonlySet<string>,
  declared: ReadonlySet<string>,
): boolean {
  if (declared.has(name) || attributes.has(name)) return true
  if (!VARIABLE_NAMES.has(name)) return false
  if (name === 'attributes') return member === undefined || attributes.has(member)
  const sample = Object.hasOwn(VARIABLES, name) ? VARIABLES[name]?.sample : undefined
  const hasMembers = name === 'campaign' || name === 'workspace'
  return !hasMembers || member === undefined || Object.hasOwn(sample as object, member)
}

function listImages({ part, source }: Piece): Finding[] {
  const { tags } = readTags(maskExpressions(source, findExpressions(source)))
  return tags
    .filter(({ name }) => /^(?:mj-)?(?:img|image)$/.test(name))
    .filter(({ attributes }) => !attributes.some((attribute) => attribute.name === 'alt'))
    .map(({ start }) => found('image-without-alt', 'an image has no alt text', part, lineAt(source, start)))
}

/** As it travels: lines of plain characters as they are, else quoted-printable. */
function encodedSize(html: string): number {
  const octets = Buffer.from(html)
  // oxlint-disable-next-line no-control-regex
  if (/^[\x01-\x7f]*$/.test(html) && html.split('\n').every((line) => line.length <= 998)) return octets.length
  let size = 0
  let column = 0
  for (const octet of octets) {
    const width = octet === 10 || octet === 13 || (octet >= 32 && octet < 127 && octet !== 61) ? 1 : 3
    column = octet === 10 ? 0 : column + width
    if (column > 75) {
      size += 3
      column = width
    }
    size += width
  }
  return size
}
