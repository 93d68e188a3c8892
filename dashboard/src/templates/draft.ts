/** What the editor changes: a template that is not saved yet, and how it becomes requests of the API. */
import type {
  ListTemplatesAnswer,
  PreviewTemplateBody,
  SaveTemplateBody,
  TemplateAnswer,
} from '#dashboard/src/api/endpoints.ts'
import { compileBlocks } from './block-html.ts'
import { createDocument, readDocument, type BlockDocument } from './block-document.ts'

export type StoredTemplate = ListTemplatesAnswer['data']['templates'][number]
type Authored = Pick<
  TemplateAnswer['data'],
  'id' | 'name' | 'subject' | 'body' | 'text' | 'format' | 'sample_data' | 'document' | 'description' | 'category'
>

export const KINDS = ['blocks', 'html', 'mjml', 'text'] as const
export type TemplateKind = (typeof KINDS)[number]

export interface TemplateDraft {
  /** Null: it was never saved. */
  readonly id: string | null
  readonly name: string
  readonly subject: string
  readonly description: string
  readonly category: string
  readonly format: 'html' | 'mjml' | 'text'
  readonly body: string
  /** The text part beside HTML; empty: it is generated. */
  readonly text: string
  /** JSON as it was typed. */
  readonly sampleData: string
  /** Null: the body is written as code. */
  readonly document: BlockDocument | null
}

export function kindOf({ format, document }: Pick<StoredTemplate, 'format' | 'document'>): TemplateKind {
  return document === null ? format : 'blocks'
}

const STARTS: Readonly<Record<Exclude<TemplateKind, 'blocks'>, string>> = {
  html: `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <style>
      body { margin: 0; padding: 24px; font-family: Arial, sans-serif; color: #171a21; }
      a { color: #1f4fd8; }
    </style>
  </head>
  <body>
    <h1>Hello {{default firstName "there"}}</h1>
    <p>Write your message here.</p>
    <p><a href="{{unsubscribeUrl}}">Unsubscribe</a></p>
  </body>
</html>
`,
  mjml: `<mjml>
  <mj-body>
    <mj-section>
      <mj-column>
        <mj-text font-size="24px">Hello {{default firstName "there"}}</mj-text>
        <mj-text>Write your message here.</mj-text>
        <mj-button href="https://example.com/">Open</mj-button>
        <mj-text><a href="{{unsubscribeUrl}}">Unsubscribe</a></mj-text>
      </mj-column>
    </mj-section>
  </mj-body>
</mjml>
`,
  text: `Hello {{default firstName "there"}},

write your message here.

Unsubscribe: {{unsubscribeUrl}}
`,
}

export function newDraft(kind: TemplateKind): TemplateDraft {
  const document = kind === 'blocks' ? createDocument() : null
  return {
    id: null,
    name: '',
    subject: '',
    description: '',
    category: '',
    format: kind === 'blocks' ? 'html' : kind,
    body: kind === 'blocks' ? '' : STARTS[kind],
    text: '',
    sampleData: '',
    document,
  }
}

/** A document of a later version of the editor, or a damaged one, leaves the body as code. */
export function draftOf(template: Authored): TemplateDraft {
  return {
    id: template.id,
    name: template.name,
    subject: template.subject,
    description: template.description ?? '',
    category: template.category ?? '',
    format: template.format,
    body: template.body,
    text: template.text ?? '',
    sampleData: template.sample_data === null ? '' : JSON.stringify(template.sample_data, null, 2),
    document: template.document === null ? null : readDocument(template.document),
  }
}

/** The source that is sent: of a block template, what its blocks compile to. */
export function bodyOf({ document, body }: TemplateDraft): string {
  return document === null ? body : compileBlocks(document)
}

export type SampleData =
  | { readonly isValid: true; readonly data: Readonly<Record<string, unknown>> | null }
  | { readonly isValid: false; readonly reason: string }

/** Empty text is no sample data. */
export function readSampleData(text: string): SampleData {
  if (text.trim() === '') return { isValid: true, data: null }
  try {
    const data: unknown = JSON.parse(text)
    if (typeof data === 'object' && data !== null && !Array.isArray(data))
      return { isValid: true, data: data as Record<string, unknown> }
    return { isValid: false, reason: '' }
  } catch (error) {
    return { isValid: false, reason: error instanceof Error ? error.message : '' }
  }
}

export function previewBody(draft: TemplateDraft, contactId: string | null): PreviewTemplateBody {
  const sample = readSampleData(draft.sampleData)
  const isText = draft.format === 'text'
  return {
    // a preview of an unfinished template is still useful
    subject: draft.subject.trim() === '' ? '–' : draft.subject,
    body: bodyOf(draft),
    text: isText || draft.text === '' ? null : draft.text,
    format: draft.format,
    sample_data: sample.isValid ? sample.data : null,
    contact_id: contactId,
  }
}

export function saveBody(draft: TemplateDraft): SaveTemplateBody {
  const sample = readSampleData(draft.sampleData)
  const orNull = (text: string): string | null => (text.trim() === '' ? null : text)
  return {
    ...(draft.id === null ? {} : { id: draft.id }),
    name: draft.name,
    subject: draft.subject,
    body: bodyOf(draft),
    text: draft.format === 'text' ? null : orNull(draft.text),
    format: draft.format,
    sample_data: sample.isValid ? sample.data : null,
    description: orNull(draft.description),
    category: orNull(draft.category),
    document: draft.document === null ? null : { ...draft.document },
  }
}

/** The line of the body that a message of the API names; null if it names none, or one of another part. */
export function lineOfProblem(message: string): number | null {
  if (/\bthe (?:subject|text|partial)\b/.test(message)) return null
  const [, line] = /\bline (\d+)/.exec(message) ?? []
  return line === undefined ? null : Number(line)
}

export function isSameDraft(a: TemplateDraft, b: TemplateDraft): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
