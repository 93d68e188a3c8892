/**
 * The page at the root of the host: what this is, and where to go next. Anyone can read it, so it is the same on every
 * installation: no version, no names, no state. Pure.
 */
import { html } from '#api/http/html.ts'
import { layout, type PageAssets } from './reference-page.ts'

export function renderStartPage({ style }: PageAssets): string {
  return layout(
    { title: 'Mailstead', assets: { style } },
    html`
<main id="content">
<h1>Mailstead</h1>
<p>This server sends and receives mail for applications: they hand messages over by REST or SMTP, and it delivers them
to the mail servers of the recipients and reports the result.</p>
<h2>For developers</h2>
<ul class="next">
<li><a href="/docs">API reference</a>: every endpoint with its fields, an example and its errors</li>
<li><a href="/openapi.json">openapi.json</a>: the same for programs, to generate a client</li>
<li><a href="/docs/guides/getting-started">Getting started</a>: sends a first mail; the other guides follow from
there</li>
</ul>
<h2>For recipients</h2>
<ul class="next">
<li>You got mail that you do not want: use the unsubscribe link in that mail.</li>
<li>You want to report abuse: write to <code>postmaster</code> or <code>abuse</code> at the domain of the sender, and
include the header of the mail.</li>
</ul>
<h2>For operators</h2>
<ul class="next">
<li>The command <code>mailstead doctor</code> checks the installation and says what to fix.</li>
<li><a href="/docs/guides/going-live">Going live</a> leads from a sandbox to real mail.</li>
</ul>
</main>`,
  ).text
}
