/**
 * Compiles MJML to HTML. Placeholders replace expressions while MJML runs; expressions between MJML tags (a block
 * around sections or columns) pass through as mj-raw. An expression that MJML would drop or compute with is rejected
 * with its line. So is mj-include: nothing is read from files or the network. Only fonts declared with mj-font are
 * used.
 */
import core from 'mjml-core'
import preset from 'mjml-preset-core'
import { createPlaceholders, type TextEdit, applyEdits } from './text-edits.ts'
import { type Expression, findExpressions, lineAt, maskExpressions } from './expressions.ts'
import { TemplateError } from './helpers.ts'
import { type SourceRange, parseTags, type Tag } from './html-tags.ts'

/** MJML passes the content of these tags through: HTML, CSS or text. */
const CONTENT_TAGS: ReadonlySet<string> = new Set(
  preset.components.filter(({ endingTag }) => endingTag === true).map(({ componentName }) => componentName),
)
const MAX_ERRORS = 10
/** MJML computes with the values of these attributes. */
const COMPUTED_ATTRIBUTE = /^Attribute (\S*(?:width|padding|border)\S*) has invalid value: .* for type Unit/

type ExpressionContext = 'text' | 'attribute' | 'tag' | 'structure'

interface LocatedExpression extends Expression {
  readonly context: ExpressionContext
  /** The line label for error messages. */
  readonly lineLabel: string
  readonly text: string
}

/** Formats a line number for the author. */
export type FormatLine = (line: number) => string

/** @throws TemplateError that lists up to ten problems with their lines. */
export async function compileMjml(source: string, formatLine: FormatLine): Promise<string> {
  const expressions = locateExpressions(source, formatLine)
  const placeholders = createPlaceholders(source)
  const { html, errors } = await runMjml(
    applyEdits(
      source,
      expressions.map(({ start, end, context, text }): TextEdit => {
        const name = placeholders.create(text)
        return { start, end, text: context === 'structure' ? `<mj-raw>${name}</mj-raw>` : name }
      }),
    ),
  )
  const names = expressions.map(({ text }) => text)
  throwProblems(
    errors.flatMap(({ line, message }) => describeProblem(placeholders.restore(message), formatLine(line), names)),
  )
  throwProblems(listDropped(source, expressions, placeholders.findMissing(html)))
  if (html.includes('NaN') && !source.includes('NaN'))
    throw new TemplateError('an attribute that MJML computes with contains an expression')
  return placeholders.restore(html)
}

function locateExpressions(source: string, formatLine: FormatLine): LocatedExpression[] {
  const expressions = findExpressions(source)
  const masked = maskExpressions(source, expressions)
  const { tags, comments } = parseTags(masked)
  const include = tags.find(({ name }) => name === 'mj-include')
  if (include !== undefined)
    throw new TemplateError(`${formatLine(lineAt(source, include.start))}: mj-include is not supported; use a partial`)
  const texts = [...listContentRanges(masked, tags), ...comments]
  const found = expressions.map((expression): LocatedExpression => {
    const context = contextOf(expression, tags, texts)
    return {
      ...expression,
      context,
      lineLabel: formatLine(lineAt(source, expression.start)),
      text: source.slice(expression.start, expression.end),
    }
  })
  throwProblems(
    found
      .filter(({ context }) => context === 'tag')
      .map(({ lineLabel, text }) => `${lineLabel}: ${text} is inside an MJML tag but not in an attribute value`),
  )
  return found
}

function listContentRanges(masked: string, tags: readonly Tag[]): SourceRange[] {
  const contents: SourceRange[] = []
  let past = 0
  for (const { name, start, end, isSelfClosing } of tags) {
    if (start < past || !CONTENT_TAGS.has(name) || isSelfClosing) continue
    const close = masked.toLowerCase().indexOf(`</${name}`, end)
    past = close < 0 ? masked.length : close
    contents.push({ start: end, end: past })
  }
  return contents
}

function contextOf(
  { start, end }: SourceRange,
  tags: readonly Tag[],
  texts: readonly SourceRange[],
): ExpressionContext {
  const holds = (range: SourceRange): boolean => start >= range.start && end <= range.end
  if (texts.some(holds)) return 'text'
  const tag = tags.find(holds)
  if (tag === undefined) return 'structure'
  return tag.attributes.some((attribute) => attribute.quote !== '' && holds(attribute)) ? 'attribute' : 'tag'
}

interface MjmlProblem {
  readonly line: number
  readonly message: string
}

async function runMjml(mjml: string): Promise<{ html: string; errors: readonly MjmlProblem[] }> {
  try {
    return await core.default(mjml, {
      presets: [preset],
      keepComments: true,
      validationLevel: 'soft',
      ignoreIncludes: true,
      fonts: {},
    })
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const isOurs = message.startsWith('Malformed MJML')
    throw new TemplateError(
      isOurs
        ? 'the MJML is malformed: it must be <mjml> with an <mj-body> in it'
        : `MJML cannot compile it: ${message}`,
    )
  }
}

/** Describes an MJML error for the author. Returns nothing if only the value of an expression is unknown. */
function describeProblem(message: string, lineLabel: string, expressions: readonly string[]): string[] {
  const problem = message.trim()
  const attribute = COMPUTED_ATTRIBUTE.exec(problem)?.[1]
  if (/^Attribute .* has invalid value/.test(problem) && expressions.some((text) => problem.includes(text)))
    return attribute === undefined
      ? []
      : [`${lineLabel}: ${attribute} cannot contain an expression: MJML computes with it`]
  const container = /^mj-raw cannot be used inside (\S+),/.exec(problem)?.[1]
  return [
    container === undefined
      ? `${lineLabel}: ${problem}`
      : `${lineLabel}: an expression is not allowed here, between the tags of ${container}`,
  ]
}

/** Lists the expressions that MJML dropped. An attribute value in the head that nothing uses is no loss. */
function listDropped(
  source: string,
  expressions: readonly LocatedExpression[],
  missing: ReadonlySet<number>,
): string[] {
  const headEnd = source.indexOf('</mj-head')
  return expressions
    .filter(({ context, kind, start }, i) => {
      if (!missing.has(i) || kind === 'comment') return false
      return context !== 'attribute' || kind !== 'value' || start > headEnd
    })
    .map(({ lineLabel, text }) => `${lineLabel}: MJML drops ${text} here`)
}

function throwProblems(problems: readonly string[]): void {
  if (problems.length === 0) return
  const more = problems.length > MAX_ERRORS ? [`and ${problems.length - MAX_ERRORS} more`] : []
  throw new TemplateError([...problems.slice(0, MAX_ERRORS), ...more].join('; '))
}
