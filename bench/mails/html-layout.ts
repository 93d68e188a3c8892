/**
 * The parts that the HTML of all sample mails shares, as e-mail builders write them: a document with a style block and
 * conditional comments for Outlook, a hidden preheader, nested layout tables with inline styles, buttons, long tracked
 * links, and a footer. Lines are indented, with the entities of real mail.
 */
import type { Random } from './random.ts'

export const FONT = "font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"
const PREHEADER_PADDING = '&#847;&zwnj;&nbsp;'

/** `contents` are rows of the layout table. */
export function htmlDocument(title: string, preheader: string, contents: readonly string[]): string {
  return `<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN"
  "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">
<html xmlns="http://www.w3.org/1999/xhtml" lang="en">
<head>
  <meta http-equiv="Content-Type" content="text/html; charset=utf-8" />
  <meta name="viewport" content="width=device-width, initial-scale=1.0" />
  <title>${title}</title>
  <!--[if mso]><xml><o:OfficeDocumentSettings>
    <o:PixelsPerInch>96</o:PixelsPerInch>
  </o:OfficeDocumentSettings></xml><![endif]-->
  <style type="text/css">
    body { margin: 0; padding: 0; -webkit-text-size-adjust: 100%; background-color: #f4f5f7; }
    table, td { border-collapse: collapse; mso-table-lspace: 0; mso-table-rspace: 0; }
    img { border: 0; line-height: 100%; outline: none; text-decoration: none; }
    @media only screen and (max-width: 600px) {
      .container { width: 100% !important; }
      .stack { display: block !important; width: 100% !important; }
    }
  </style>
</head>
<body>
<div style="display:none;font-size:1px;line-height:1px;max-height:0;overflow:hidden;">
${preheader}
${PREHEADER_PADDING.repeat(6)}
</div>
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0">
  <tr>
    <td align="center" style="padding:24px 12px;">
      <table role="presentation" class="container" width="600" cellpadding="0" cellspacing="0" border="0">
${contents.join('\n')}
      </table>
    </td>
  </tr>
</table>
</body>
</html>
`
}

export function textRow(html: string, style = 'font-size:16px;line-height:24px;color:#3a3f47'): string {
  return `        <tr>
          <td class="stack" style="padding:12px 32px;${FONT};${style};">
            ${html}
          </td>
        </tr>`
}

export function buttonRow(label: string, url: string): string {
  return `        <tr>
          <td align="left" style="padding:16px 32px;">
            <table role="presentation" cellpadding="0" cellspacing="0" border="0"><tr>
              <td bgcolor="#1a73e8" style="border-radius:6px;">
                <a href="${url}"
                  style="display:inline-block;padding:12px 24px;${FONT};font-size:16px;color:#ffffff;"
                >${label}</a>
              </td>
            </tr></table>
          </td>
        </tr>`
}

/** As shops write them: a path, a token and campaign parameters. */
export function longUrl(random: Random, path: string): string {
  const campaign = `utm_source=mail&amp;utm_medium=transactional&amp;utm_campaign=${random.token(8)}`
  const query = `uid=${random.token(22)}&amp;${campaign}`
  return `https://www.shop.example/${path}/${random.token(12)}?${query}`
}

export function footerRow(random: Random): string {
  return textRow(
    `<p style="margin:0 0 8px 0;">Shop &amp; Sons Ltd. &middot; 12 Station Road &middot; London W1A&nbsp;1AA</p>
            <p style="margin:0;">You receive this mail because you have an account with us.
            <a href="${longUrl(random, 'help')}" style="color:#6b7280;">Help</a> &nbsp;|&nbsp;
            <a href="${longUrl(random, 'privacy')}" style="color:#6b7280;">Privacy</a> &nbsp;|&nbsp;
            &copy;&nbsp;2026 Shop&nbsp;&amp;&nbsp;Sons</p>`,
    'font-size:12px;line-height:18px;color:#6b7280',
  )
}

/** Adds rows until the document has about `bytes` bytes. `row` makes the next one. */
export function fillRows(bytes: number, fixed: readonly string[], row: (index: number) => string): string[] {
  const rows: string[] = []
  let length = fixed.reduce((sum, text) => sum + text.length, 0) + DOCUMENT_BYTES
  for (let index = 0; length < bytes; index++) {
    const next = row(index)
    rows.push(next)
    length += next.length
  }
  return rows
}

/** The document without its contents. */
const DOCUMENT_BYTES = 1800
