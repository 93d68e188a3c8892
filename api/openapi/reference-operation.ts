/** One endpoint of the API reference as HTML: closed until the reader opens it or follows a link to it. */
import { html, type Markup } from '#api/http/html.ts'
import { inline, renderSchema, textOf, type FieldContext } from './reference-fields.ts'
import type { Json } from './schemas.ts'

export interface ListedOperation {
  readonly path: string
  readonly method: string
  readonly operation: Json
  readonly aliases: readonly string[]
}

interface Parts extends FieldContext {
  readonly parameters: Readonly<Record<string, Json>>
  readonly responses: Readonly<Record<string, Json>>
}

type Media = Readonly<Record<string, Json>>

export function renderOperation({ path, method, operation, aliases }: ListedOperation, parts: Parts): Markup {
  const id = textOf(operation['operationId'])
  const samples = operation['x-codeSamples'] as readonly { readonly source: string }[] | undefined
  const paragraphs = textOf(operation['description'])
    .split('\n\n')
    .filter((one) => one !== '')
  return html`
<details class="operation">
<summary><h3><span class="method ${method}">${method.toUpperCase()}</span> <code>${path}</code></h3>
<span class="summary">${textOf(operation['summary'])}</span></summary>
<div id="${id}" class="body">
${paragraphs.map((one) => html`<p>${inline(one)}</p>`)}
${renderParameters(operation, parts)}
${renderRequest(operation, parts)}
${samples?.[0] === undefined ? null : html`<h4>Example</h4>${code(samples[0].source)}`}
${renderResponses(operation, parts)}
${
  aliases.length === 0
    ? null
    : html`<p>Also: ${aliases.map((one, i) => html`${i === 0 ? null : ', '}<code>${one}</code>`)}</p>`
}
</div>
</details>`
}

/** A block that a keyboard can scroll. */
function code(text: string): Markup {
  return html`<pre tabindex="0"><code>${text}</code></pre>`
}

function renderParameters(operation: Json, { parameters }: Parts): Markup | null {
  const rows = (operation['parameters'] as readonly Json[])
    .map((one) => parameters[textOf(one['$ref']).split('/').at(-1) ?? ''] ?? one)
    .filter((one) => one['deprecated'] !== true)
    .map((one) => {
      const schema = (one['schema'] ?? {}) as Json
      const choices = Array.isArray(schema['enum']) ? (schema['enum'] as unknown[]).map(String).join(', ') : ''
      return html`
<dt><code>${textOf(one['name'])}</code> <span class="type">${textOf(one['in'])}</span>${
        one['required'] === true ? html` <strong>required</strong>` : null
      }</dt>
<dd>${inline(textOf(one['description']))}${choices === '' ? null : html` <span class="values">${choices}</span>`}</dd>`
    })
  return rows.length === 0 ? null : html`<h4>Parameters</h4><dl class="fields">${rows}</dl>`
}

function renderRequest(operation: Json, parts: Parts): Markup | null {
  const content = (operation['requestBody'] as { content?: Media } | undefined)?.content
  if (content === undefined) return null
  const types = Object.keys(content)
  const schema = (content['application/json'] ?? Object.values(content)[0])?.['schema'] as Json | undefined
  return html`<h4>Body</h4><p class="type">${types.join(', ')}</p>${
    schema === undefined ? null : renderSchema(schema, parts)
  }`
}

function renderResponses(operation: Json, parts: Parts): Markup {
  const all = Object.entries(operation['responses'] as Record<string, Json>)
  const good = all.filter(([status]) => Number(status) < 400)
  const errors = all.filter(([status]) => Number(status) >= 400)
  return html`${good.map(([status, response]) => renderSuccess(status, response, parts))}${
    errors.length === 0
      ? null
      : html`<h4>Errors</h4><dl class="fields">${errors.map(([status, one]) => renderError(status, one, parts))}
</dl>`
  }`
}

function renderSuccess(status: string, response: Json, parts: Parts): Markup {
  const content = (response['content'] ?? {}) as Media
  const json = content['application/json']
  const types = Object.keys(content).filter((type) => type !== 'application/json')
  const schema = json?.['schema'] as Json | undefined
  const description = textOf(response['description'])
  return html`<h4>${status}${description === 'Success' ? null : html`: ${inline(description)}`}</h4>${
    types.length === 0 ? null : html`<p class="type">${types.join(', ')}</p>`
  }${schema === undefined ? null : renderSchema(schema, parts)}${
    json?.['example'] === undefined ? null : code(JSON.stringify(json['example'], null, 2))
  }`
}

function renderError(status: string, response: Json, { responses }: Parts): Markup {
  const target = responses[textOf(response['$ref']).split('/').at(-1) ?? ''] ?? response
  const [first = '', ...others] = textOf(target['description']).split('; ')
  const rows = [first, ...others].map((one) => html`<li>${inline(one)}</li>`)
  return html`
<dt>${status}</dt><dd><ul>${rows}</ul></dd>`
}
