/**
 * MJML to HTML. Expressions are names while MJML works; those that stand between MJML's own tags (a block around sections or columns) go
 * through as mj-raw. What MJML cannot keep, or must compute with, is refused with its line, and so is mj-include: nothing is read from
 * files or the network. Fonts are only those that the author names with mj-font.
 */
import core from 'mjml-core'
import preset from 'mjml-preset-core'
import { createPlaceholders, type Edit, write } from './text-edits.ts'
import { type Expression, findExpressions, lineAt, maskExpressions } from './expressions.ts'
import { TemplateError } from './helpers.ts'
import { type Range, readTags, type Tag } from './tags.ts'

/** What stands in these is HTML, CSS or text, which MJML hands on. */
const CONTENT_TAGS: ReadonlySet<string> = new Set(
  preset.components.filter(({ endingTag }) => endingTag === true).map(({ componentName }) => componentName),
)
const MAX_ERRORS = 10
/** MJML computes with them. */
const COMPUTED = /^Attribute (\S*(?:width|padding|border)\S*) has invalid value: .* for type Unit/

type Place = 'text' | 'attribute' | 'tag' | 'structure'

interface Found extends Expression {
  readonly place: Place
  /** Its line, as it is said. */
  readonly where: string
  readonly text: string
}

/** How a line is named to the author. */
export type SayLine = (line: number) => string

/** @throws TemplateError that lists the problems with their lines. */
export async function compileMjml(source: string, sayLine: SayLine): Promise<string> {
  const expressions = locate(source, sayLine)
  const placeholders = createPlaceholders(source)
  const { html, errors } = await compile(
    write(
      source,
      expressions.map(({ start, end, place, text }): Edit => {
        const name = placeholders.keep(text)
        return { start, end, text: place === 'structure' ? `<mj-raw>${name}</mj-raw>` : name }
      }),
    ),
  )
  const names = expressions.map(({ text }) => text)
  report(errors.flatMap(({ line, message }) => explain(placeholders.restore(message), sayLine(line), names)))
  report(listLost(source, expressions, placeholders.lostIn(html)))
  if (html.includes('NaN') && !source.includes('NaN'))
    throw new TemplateError('an expression stands in an attribute that MJML computes with')
  return placeholders.restore(html)
}

function locate(source: string, sayLine: SayLine): Found[] {
  const expressions = findExpressions(source)
  const masked = maskExpressions(source, expressions)
  const { tags, comments } = readTags(masked)
  const include = tags.find(({ name }) => name === 'mj-include')
  if (include !== undefined)
    throw new TemplateError(`${sayLine(lineAt(source, include.start))}: mj-include is not supported; use a partial`)
  const texts = [...listContents(masked, tags), ...comments]
  const found = expressions.map((expression): Found => {
    const place = placeOf(expression, tags, texts)
    return {
      ...expression,
      place,
      where: sayLine(lineAt(source, expression.start)),
      text: source.slice(expression.start, expression.end),
    }
  })
  report(
    found
      .filter(({ place }) => place === 'tag')
      .map(({ where, text }) => `${where}: ${text} stands in an MJML tag, outside of an attribute's value`),
  )
  return found
}

function listContents(masked: string, tags: readonly Tag[]): Range[] {
  const contents: Range[] = []
  let past = 0
  for (const { name, start, end, isClosed } of tags) {
    if (start < past || !CONTENT_TAGS.has(name) || isClosed) continue
    const close = masked.toLowerCase().indexOf(`</${name}`, end)
    past = close < 0 ? masked.length : close
    contents.push({ start: end, end: past })
  }
  return contents
}

function placeOf({ start, end }: Range, tags: readonly Tag[], texts: readonly Range[]): Place {
  const holds = (range: Range): boolean => start >= range.start && end <= range.end
  if (texts.some(holds)) return 'text'
  const tag = tags.find(holds)
  if (tag === undefined) return 'structure'
  return tag.attributes.some((attribute) => attribute.quote !== '' && holds(attribute)) ? 'attribute' : 'tag'
}

interface MjmlProblem {
  readonly line: number
  readonly message: string
}

async function compile(mjml: string): Promise<{ html: string; errors: readonly MjmlProblem[] }> {
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

/** What is wrong, in words; nothing where a value is only unknown yet. */
function explain(message: string, where: string, expressions: readonly string[]): string[] {
  const said = message.trim()
  const computed = COMPUTED.exec(said)?.[1]
  if (/^Attribute .* has invalid value/.test(said) && expressions.some((text) => said.includes(text)))
    return computed === undefined ? [] : [`${where}: an expression cannot stand in ${computed}: MJML computes with it`]
  const place = /^mj-raw cannot be used inside (\S+),/.exec(said)?.[1]
  return [
    place === undefined
      ? `${where}: ${said}`
      : `${where}: an expression cannot stand here, between the tags of ${place}`,
  ]
}

/** A value of the head that nothing uses is no loss. */
function listLost(source: string, expressions: readonly Found[], lost: ReadonlySet<number>): string[] {
  const headEnd = source.indexOf('</mj-head')
  return expressions
    .filter(({ place, kind, start }, i) => {
      if (!lost.has(i) || kind === 'comment') return false
      return place !== 'attribute' || kind !== 'value' || start > headEnd
    })
    .map(({ where, text }) => `${where}: MJML leaves ${text} out here`)
}

function report(problems: readonly string[]): void {
  if (problems.length === 0) return
  const more = problems.length > MAX_ERRORS ? [`and ${problems.length - MAX_ERRORS} more`] : []
  throw new TemplateError([...problems.slice(0, MAX_ERRORS), ...more].join('; '))
}
