/** A newsletter: 60 KB of HTML with 40 links, and its text part. */
import { fillRows, FONT, footerRow, htmlDocument, longUrl, textRow } from './html-layout.ts'
import type { Random } from './random.ts'
import { BODY_MARKER, NUMBER_PLACEHOLDER, type SampleMail } from './sample-mail.ts'

const HTML_BYTES = 60_000
/** Links of the teasers; two more are in the footer. */
const TEASERS = 38
const marker = `${BODY_MARKER}${NUMBER_PLACEHOLDER}`

/** `greeting` may hold a placeholder of a template. */
export function newsletter(random: Random, greeting = `Hello reader ${NUMBER_PLACEHOLDER}`): SampleMail {
  const head = [textRow(`<h1 style="margin:0;font-size:28px;line-height:36px;">${greeting}</h1>`)]
  const foot = [footerRow(random)]
  const texts: string[] = []
  const teasers = Array.from({ length: TEASERS }, () => {
    const [title, text, url] = [random.sentence(5), random.sentence(25), longUrl(random, 'stories')]
    texts.push(`${title}\n${text}\n${url.replaceAll('&amp;', '&')}\n`)
    return teaserRow(title, text, url)
  })
  const more = fillRows(HTML_BYTES, [...head, ...teasers, ...foot], () => {
    const text = random.sentence(40)
    texts.push(`${text}\n`)
    return textRow(`<p style="margin:0;">${text.replace(' and ', ' &amp; ')}</p>`)
  })
  return {
    subject: 'What is new this week',
    html: htmlDocument('News', marker, [...head, ...teasers, ...more, ...foot]),
    text: `${greeting}\n\n${texts.join('\n')}\n${marker}\n`,
    attachments: [],
  }
}

function teaserRow(title: string, text: string, url: string): string {
  return `        <tr>
          <td style="padding:16px 32px;background-color:#ffffff;">
            <table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr>
              <td class="stack" width="180" valign="top">
                <img src="https://img.shop.example/teaser.jpg" width="160" height="120" alt="" style="display:block;" />
              </td>
              <td class="stack" valign="top" style="${FONT};font-size:15px;line-height:22px;color:#3a3f47;">
                <h2 style="margin:0 0 6px 0;font-size:18px;line-height:24px;">${title}</h2>
                <p style="margin:0 0 8px 0;">${text}</p>
                <a href="${url}" style="color:#1a73e8;text-decoration:none;">Read more&nbsp;&rarr;</a>
              </td>
            </tr></table>
          </td>
        </tr>`
}
