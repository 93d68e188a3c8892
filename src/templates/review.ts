/**
 * Reviews a template before it is sent and lists findings with their positions, one rule each (review-rules.ts). Some
 * findings prevent a campaign from being sent. Runs only in the compile thread. Pure.
 */
import { textFromHtml } from '#src/mail/html-text.ts'
import { nearestName } from '#src/platform/nearest-name.ts'
import { validateAuthoredSource } from './source-validator.ts'
import type { Engine } from './engine.ts'
import { findExpressions, lineAt, maskExpressions } from './expressions.ts'
import { compileTemplate, type CompiledTemplate, type AuthoredTemplate } from './compile-template.ts'
import { canInlineCss } from './inline-css.ts'
import { outputFrequency, findVariables, type VariableUse } from './variable-names.ts'
import type { PartialBodies } from './partials.ts'
import { REVIEW_RULES, type ReviewRule } from './review-rules.ts'
import type { TemplateSource } from './template-source.ts'
import { parseTags } from './html-tags.ts'
import { VARIABLE_NAMES, VARIABLES } from './variables.ts'

export interface ReviewFinding {
  readonly rule: ReviewRule
  /** `error`: the template cannot be used; `campaign`: a campaign cannot send it. */
  readonly level: (typeof REVIEW_RULES)[ReviewRule]['level']
  /** `subject`, `body`, `text` or `partial <name>`; null: the template as a whole. */
  readonly part: string | null
  readonly line: number | null
  readonly message: string
}

export interface Review {
  readonly findings: readonly ReviewFinding[]
  /** The text part, rendered with sample data: the author's, or generated from the HTML. Null if rendering fails. */
  readonly text: string | null
  /** Size of the encoded HTML in octets; 0 without HTML. */
  readonly size: number
}

export interface ReviewJob {
  readonly authored: AuthoredTemplate
  readonly partials: PartialBodies
  /** Names of custom attributes of the workspace's contacts. */
  readonly attributes: readonly string[]
  /** Variable names declared by the author's sample data. */
  readonly declared: readonly string[]
  /** JSON params for rendering. */
  readonly params: string
}

const GMAIL_CLIP_BYTES = 102 * 1024
const MAX_FINDINGS = 200
const UNSUBSCRIBE_URL_NAMES: ReadonlySet<string> = new Set(['unsubscribeUrl', 'unsubscribe_url'])

interface AuthoredPart {
  readonly part: string
  readonly source: string
}

export async function review(engine: Engine, job: ReviewJob): Promise<Review> {
  const compiled = await compileTemplate(engine, job.authored, job.partials)
  if (!compiled.ok) return { findings: [createFinding('cannot-be-saved', compiled.reason)], text: null, size: 0 }
  const parts = listAuthoredParts(job, compiled)
  const { findings, text, size } = checkRendered(engine, compiled, job.params)
  const all = [
    ...findings,
    ...checkUnsubscribeLink(compiled),
    ...checkCssInlining(compiled),
    ...parts.flatMap((part) => checkVariables(part, job)),
    ...parts.filter(({ part }) => part !== 'subject' && part !== 'text').flatMap(checkImages),
  ]
  return { findings: all.slice(0, MAX_FINDINGS), text, size }
}

function createFinding(
  rule: ReviewRule,
  message: string,
  part: string | null = null,
  line: number | null = null,
): ReviewFinding {
  return { rule, level: REVIEW_RULES[rule].level, part, line, message }
}

/** The authored parts, each with its own line numbers. */
function listAuthoredParts(
  { authored: { subject, body, text }, partials }: ReviewJob,
  compiled: CompiledTemplate,
): AuthoredPart[] {
  return [
    { part: 'subject', source: subject },
    { part: 'body', source: body },
    ...(text === null ? [] : [{ part: 'text', source: text }]),
    ...compiled.partials.map((name) => ({ part: `partial ${name}`, source: partials[name] ?? '' })),
  ]
}

function checkRendered(engine: Engine, { subject, html, text }: CompiledTemplate, params: string): Review {
  const rendered = engine.render({ key: 'compile', subject, html, text }, params)
  if (!rendered.ok) return { findings: [createFinding('cannot-be-rendered', rendered.reason)], text: null, size: 0 }
  if (rendered.html === null) return { findings: [], text: rendered.text, size: 0 }
  const size = encodedSize(rendered.html)
  const kilobytes = (size / 1024).toFixed(1)
  return {
    findings: [
      ...(size > GMAIL_CLIP_BYTES
        ? [
            createFinding(
              'too-large',
              `the HTML is ${kilobytes} KB when it is rendered and encoded; Gmail clips it at 102 KB`,
              'body',
            ),
          ]
        : []),
      ...(rendered.text === null
        ? [createFinding('missing-text-part', 'there is no text part; one is generated from the HTML')]
        : []),
    ],
    text: rendered.text ?? textFromHtml(rendered.html),
    size,
  }
}

/** Lists what prevents a campaign from sending a compiled source. */
export function validateForCampaign(engine: Engine, source: Omit<TemplateSource, 'key'>): ReviewFinding[] {
  const problem = engine.compile({ key: 'validate', ...source })
  return problem === null ? checkUnsubscribeLink(source) : [createFinding('cannot-be-saved', problem)]
}

/**
 * Checks that every message contains the unsubscribe link. A text part beside HTML may omit it: its reader has the mail
 * program's List-Unsubscribe button.
 */
function checkUnsubscribeLink({ html, text }: Pick<CompiledTemplate, 'html' | 'text'>): ReviewFinding[] {
  const source = html ?? text ?? ''
  const comments = html === null ? [] : parseTags(maskExpressions(html, findExpressions(html))).comments
  const frequency = outputFrequency(
    source,
    UNSUBSCRIBE_URL_NAMES,
    (offset) => !comments.some(({ start, end }) => offset >= start && offset < end),
  )
  if (frequency === 'always') return []
  const problem = frequency === 'never' ? 'is missing' : 'is only in a block that may not be rendered'
  return [createFinding('missing-unsubscribe-url', `{{unsubscribeUrl}} ${problem}`)]
}

function checkCssInlining({ format, html }: CompiledTemplate): ReviewFinding[] {
  return format !== 'html' || html === null || canInlineCss(html)
    ? []
    : [createFinding('css-not-inlined', 'CSS is not inlined: a block opens elements that it does not close')]
}

function checkVariables({ part, source }: AuthoredPart, job: ReviewJob): ReviewFinding[] {
  validateAuthoredSource(source)
  const attributes = new Set(job.attributes)
  const declared = new Set(job.declared)
  const seen = new Set<string>()
  return findVariables(source)
    .filter(({ path }) => !isDeclared(path, attributes, declared))
    .flatMap(({ path, line }: VariableUse) => {
      const name = path.join('.')
      if (seen.has(`${name} ${line}`)) return []
      seen.add(`${name} ${line}`)
      return [
        createFinding(
          'undeclared-variable',
          `{{${name}}} is neither a variable, a contact attribute, nor declared in sample_data${suggestion(path, job)}`,
          part,
          line,
        ),
      ]
    })
}

/** The nearest name that exists, as a question. */
function suggestion([name = '', member]: readonly string[], { attributes, declared }: ReviewJob): string {
  const isAttribute = name === 'attributes' && member !== undefined
  // a known name with an unknown member: no other name was meant
  if (!isAttribute && Object.hasOwn(VARIABLES, name)) return ''
  const nearest = isAttribute
    ? nearestName(member, attributes)
    : nearestName(name, [...attributes, ...declared, ...Object.keys(VARIABLES)])
  if (nearest === null) return ''
  const path = isAttribute || !/^[\w-]+$/.test(nearest) ? `attributes.${segment(nearest)}` : nearest
  return `. Did you mean {{${path}}}?`
}

/** A name as Handlebars accepts it after a dot. */
function segment(name: string): string {
  return /^[\w-]+$/.test(name) ? name : `[${name}]`
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

function checkImages({ part, source }: AuthoredPart): ReviewFinding[] {
  const { tags } = parseTags(maskExpressions(source, findExpressions(source)))
  return tags
    .filter(({ name }) => /^(?:mj-)?(?:img|image)$/.test(name))
    .filter(({ attributes }) => !attributes.some((attribute) => attribute.name === 'alt'))
    .map(({ start }) => createFinding('image-without-alt', 'an image has no alt text', part, lineAt(source, start)))
}

/** Size on the wire: short ASCII lines unencoded, everything else quoted-printable. */
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
