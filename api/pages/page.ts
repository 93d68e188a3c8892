/**
 * The layout of every public page: HTML that works without scripts, on a phone, with a screen reader, in dark mode and
 * in print. Its only style element is allowed by hash in the Content-Security-Policy, and so is the script of the one
 * page that has one; nothing else is loaded or executed.
 */
import { createHash } from 'node:crypto'
import { html, Markup } from '#api/http/html.ts'
import { pageHeaders } from '#api/http/headers.ts'
import { DEFAULT_LOOK, type Look } from '#src/branding/branding.ts'
import { brandStyle } from './brand-style.ts'
import type { ApiResponse } from '#api/http/route.ts'

// Contrast of text is above 7:1, of borders above 3:1 (WCAG 2.2, 1.4.6 and 1.4.11); buttons are 44 px high (2.5.5).
const STYLE = `
:root{color-scheme:light dark}
*{box-sizing:border-box}
body{margin:0;padding:1rem;background:#fff;color:#1b1b1b;font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
main{max-width:30rem;margin:2rem auto}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 1rem}
label{display:block;font-weight:600;margin:1rem 0 .25rem}
input{width:100%;min-height:2.75rem;padding:.5rem .6rem;font:inherit;color:inherit;background:transparent}
input{border:1px solid #6b6b6b;border-radius:.3rem}
button{min-height:2.75rem;margin-top:1.5rem;padding:.5rem 1.2rem;font:inherit;font-weight:600;cursor:pointer}
button{color:#fff;background:#1a4480;border:1px solid #1a4480;border-radius:.3rem}
input[type=checkbox]{width:1.5rem;min-height:1.5rem;margin:0;flex:none}
fieldset{border:0;margin:0;padding:0}
legend{font-weight:600;padding:0}
.choice{display:flex;gap:.75rem;align-items:center;min-height:2.75rem;margin:0;font-weight:400}
.hint{margin:0 0 0 2.25rem;font-size:.9rem}
.done{border:3px solid #19703a;border-radius:.3rem;padding:1rem;margin:0 0 1rem}
input:focus-visible,button:focus-visible,a:focus-visible{outline:3px solid #2672de;outline-offset:2px}
a{color:#1a4480}
.wrong{color:#8b0a03;font-weight:600;margin:.25rem 0}
.problems{border:3px solid #b50909;border-radius:.3rem;padding:1rem;margin:0 0 1rem}
.problems h2{font-size:1.1rem;margin:0}
.problems ul{margin:.5rem 0 0;padding-left:1.2rem}
.logo{max-width:100%;max-height:5rem;height:auto}
.aside{position:absolute;left:-100vw;width:1px;height:1px;overflow:hidden}
@media (prefers-color-scheme:dark){
body{background:#16181b;color:#f0f0f0}
a{color:#a9c7ff}
.wrong{color:#ffb4ab}
.problems{border-color:#ff897d}
input{border-color:#8d9096}
button{background:#a9c7ff;border-color:#a9c7ff;color:#0b1d3a}
input:focus-visible,button:focus-visible,a:focus-visible{outline-color:#a9c7ff}
}
`
const STYLE_HASH = hashOf(STYLE)

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64')
}

/**
 * The response with a page whose form is only accepted from this service. Without a referrer, browsers send the form
 * with `Origin: null` (Fetch standard, §3.2.6). The address of the page, which may have a token, goes to no other site.
 */
export function formPage(title: string, content: Markup): ApiResponse {
  const response = page(title, content)
  return { ...response, headers: { ...response.headers, 'Referrer-Policy': 'same-origin' } }
}

interface PageOptions {
  /** It is allowed by hash too; it is text of this project, never of a customer. */
  readonly script?: string | undefined
  /** The branding of the sender; by default that of this service. */
  readonly look?: Look
}

/** The response with a page. */
export function page(title: string, content: Markup, { script, look = DEFAULT_LOOK }: PageOptions = {}): ApiResponse {
  const style = STYLE + brandStyle(look.colours)
  const body = html`<!doctype html>
<html lang="${look.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${new Markup(style)}</style>
</head>
<body>
<main>
${renderLogo(look)}${content}
</main>
${script === undefined ? null : new Markup(`<script>${script}</script>\n`)}</body>
</html>
`
  const styleHash = style === STYLE ? STYLE_HASH : hashOf(style)
  const scriptHash = script === undefined ? undefined : hashOf(script)
  const headers = pageHeaders(styleHash, { scriptHash, image: look.logo?.url })
  return { body: body.text, type: 'text/html; charset=utf-8', headers }
}

function renderLogo({ logo }: Look): Markup | null {
  return logo === null
    ? null
    : html`<p><img class="logo" src="${logo.url}" alt="${logo.alt}"></p>
`
}
