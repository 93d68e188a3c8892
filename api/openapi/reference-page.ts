/**
 * The API reference as one page of HTML, made from the OpenAPI document: it works without scripts, with a keyboard and
 * a screen reader, and on any width. A script adds a filter. Nothing is loaded from other sites. Pure.
 */
import { html, type Markup } from '#api/http/html.ts'
import { inline, renderFields, textOf, type FieldContext } from './reference-fields.ts'
import { renderOperation, type ListedOperation } from './reference-operation.ts'
import type { Json } from './schemas.ts'

export interface PageAssets {
  /** URLs. */
  readonly style: string
  readonly script: string
}

interface Group {
  readonly name: string
  readonly description: string
  readonly operations: readonly ListedOperation[]
}

export function renderReference(document: Json, assets: PageAssets): string {
  const components = document['components'] as Record<string, Record<string, Json>>
  const schemas = components['schemas'] ?? {}
  const context: FieldContext = { schemas, shared: new Set(Object.keys(schemas).filter(isShared)) }
  const parts = { ...context, parameters: components['parameters'] ?? {}, responses: components['responses'] ?? {} }
  const groups = groupsOf(document)
  const info = document['info'] as Json
  return layout(
    { title: 'API reference', assets, hasFilter: true },
    html`
<nav aria-label="Endpoints">${renderNavigation(groups)}</nav>
<main id="content">
<h1>API reference</h1>
${textOf(info['description'])
  .split('\n\n')
  .map((one) => html`<p>${inline(one)}</p>`)}
<p>The same for programs: <a href="/openapi.json">openapi.json</a>. In the examples, <code>MAILSTEAD_URL</code> is the
address of this server, <code>MAILSTEAD_KEY</code> a Regular key, <code>MAILSTEAD_ADMIN_KEY</code> an Admin key, and
<code>MAILSTEAD_ADMIN_TOKEN</code> the operator token.</p>
<p id="none" role="status" hidden>No endpoint matches.</p>
${groups.map(
  ({ name, description, operations }) => html`
<section aria-labelledby="${anchorOf(name)}">
<h2 id="${anchorOf(name)}">${name}</h2>
<p>${inline(description)}</p>
${operations.map((one) => renderOperation(one, parts))}
</section>`,
)}
<section aria-labelledby="schemas">
<h2 id="schemas">Objects</h2>
<p>Objects that several endpoints share.</p>
${[...context.shared].map((name) => renderShared(name, context))}
</section>
</main>`,
  ).text
}

/** Schemas of one body or response are shown where they occur. */
function isShared(name: string): boolean {
  return !/(?:Body|Answer\d*|Event)$/.test(name)
}

function renderShared(name: string, context: FieldContext): Markup {
  const schema = context.schemas[name] ?? {}
  return html`
<details class="operation">
<summary><h3><code>${name}</code></h3></summary>
<div id="schema-${name}" class="body">
${schema['description'] === undefined ? null : html`<p>${inline(textOf(schema['description']))}</p>`}
${renderFields(schema, context)}
</div>
</details>`
}

function groupsOf(document: Json): Group[] {
  const paths = document['paths'] as Record<string, Record<string, Json>>
  const all = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
  )
  const aliasesOf = ({ path, method }: { readonly path: string; readonly method: string }): string[] =>
    all
      .filter(
        (one) => one.method === method && textOf(one.operation['description']).startsWith(`Alias of ${colons(path)}.`),
      )
      .map((one) => one.path)
  const listed = all
    .filter(({ operation }) => operation['deprecated'] !== true)
    .map((one) => ({ ...one, aliases: aliasesOf(one) }))
  return (document['tags'] as readonly Json[]).map((tag) => ({
    name: textOf(tag['name']),
    description: textOf(tag['description']),
    operations: listed.filter(({ operation }) => (operation['tags'] as readonly unknown[])[0] === tag['name']),
  }))
}

function colons(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1')
}

function anchorOf(name: string): string {
  return name.toLowerCase().replaceAll(' ', '-')
}

function renderNavigation(groups: readonly Group[]): Markup {
  const lists = groups.map(
    ({ name, operations }) => html`
<li><a href="#${anchorOf(name)}">${name}</a>
<ul>${operations.map(
      ({ operation }) => html`
<li><a href="#${textOf(operation['operationId'])}">${textOf(operation['summary'])}</a></li>`,
    )}</ul></li>`,
  )
  return html`<details class="contents" open><summary>Contents</summary>
<ul>${lists}
<li><a href="#schemas">Objects</a></li></ul></details>`
}

export interface PageFrame {
  readonly title: string
  readonly assets: Pick<PageAssets, 'style'> & Partial<PageAssets>
  readonly hasFilter?: boolean
}

/** The frame of the pages for people who operate or program Mailstead. */
export function layout({ title, assets, hasFilter = false }: PageFrame, content: Markup): Markup {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title === 'Mailstead' ? title : `${title} · Mailstead`}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${assets.style}">
${assets.script === undefined ? null : html`<script src="${assets.script}" defer></script>`}
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="brand" href="/">Mailstead</a>
${
  hasFilter
    ? html`<label class="filter" hidden>Filter
<input id="filter" type="search" placeholder="send, webhook, /domains"></label>`
    : null
}
</header>
<div class="columns">
${content}
</div>
</body>
</html>
`
}
