/**
 * From what an author wrote to what is rendered: partials put in, MJML compiled, CSS inlined, all of it compiled once to know that it can
 * be. Runs only in the workshop's thread, because none of these steps can be trusted to end. Pure: the same input yields the same result.
 */
import { isHtml } from '#src/mail/html-detection.ts'
import { inspectWritten } from './check.ts'
import type { Engine } from './engine.ts'
import { TemplateError } from './helpers.ts'
import { inlineCss } from './inline.ts'
import { type Expanded, expandPartials, type Partials } from './partials.ts'
import type { TemplateFormat } from './versions.ts'

export interface Written {
  readonly subject: string
  /** HTML, MJML or text. */
  readonly body: string
  /** The text part; null: none. */
  readonly text: string | null
  /** Null: to be detected. */
  readonly format: TemplateFormat | null
}

export interface Finished {
  readonly ok: true
  readonly format: TemplateFormat
  readonly subject: string
  readonly html: string | null
  readonly text: string | null
  /** Names of those that were put in. */
  readonly partials: readonly string[]
}

export type FinishResult = Finished | { readonly ok: false; readonly reason: string }

/** With its partials. */
const MAX_FINISHED = 2_000_000

export async function finish(engine: Engine, written: Written, partials: Partials): Promise<FinishResult> {
  try {
    const body = read('body', written.body, partials)
    const text = written.text === null ? null : read('text part', written.text, partials)
    const format = written.format ?? detect(body.text)
    // a text needs no other beside it
    const parts =
      format === 'text'
        ? { html: null, text: body.text }
        : { html: await toHtml(format, body), text: text?.text ?? null }
    const wrong = engine.compile({ key: 'finish', subject: written.subject, ...parts })
    if (wrong !== null) return { ok: false, reason: wrong }
    return {
      ok: true,
      format,
      subject: written.subject,
      ...parts,
      partials: [...new Set([...body.uses, ...(text?.uses ?? [])])],
    }
  } catch (error) {
    if (error instanceof TemplateError) return { ok: false, reason: error.message }
    throw error
  }
}

/** Whether a source is MJML. */
function isMjml(body: string): boolean {
  return /<mjml[\s>]/i.test(body)
}

/** MJML by its root element, HTML by its tags. */
function detect(body: string): TemplateFormat {
  if (isMjml(body)) return 'mjml'
  return isHtml(body) ? 'html' : 'text'
}

function read(
  part: 'body' | 'text part',
  source: string,
  partials: Partials,
): Expanded & { readonly uses: readonly string[] } {
  return within(part, () => {
    const uses = inspectWritten(source)
    const expanded = expandPartials(source, uses, partials)
    if (expanded.text.length > MAX_FINISHED)
      throw new TemplateError(`is longer than ${MAX_FINISHED} characters with its partials`)
    return { ...expanded, uses: uses.map(({ name }) => name) }
  })
}

async function toHtml(format: TemplateFormat, { text, sayLine }: Expanded): Promise<string> {
  if (format === 'html') return inlineCss(text)
  // large, and most workshops never need it
  const { compileMjml } = await import('./mjml.ts')
  try {
    return await compileMjml(text, sayLine)
  } catch (error) {
    throw named('body', error)
  }
}

function within<T>(part: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw named(part, error)
  }
}

function named(part: string, error: unknown): unknown {
  if (!(error instanceof TemplateError)) return error
  const sign = error.message.startsWith('line ') ? ',' : error.message.startsWith('is ') ? '' : ':'
  return new TemplateError(`the ${part}${sign} ${error.message}`)
}
