/** Mails of a shop about one order or login: a receipt, a one-time code, and an invoice as PDF. */
import { buttonRow, fillRows, FONT, footerRow, htmlDocument, longUrl, textRow } from './html-layout.ts'
import type { Random } from './random.ts'
import { BODY_MARKER, NUMBER_PLACEHOLDER, type SampleAttachment, type SampleMail } from './sample-mail.ts'

const RECEIPT_BYTES = 12_000
const SMALL_BYTES = 4096
const PDF_BYTES = 200_000
const NAMES = ['Ana Souza', 'Jürgen Weiß', 'Mary O&rsquo;Neill', 'Zoë Lemaître', 'Peter Smith', 'Kim Andersen']
const PRODUCTS = ['Espresso cups, set of&nbsp;4', 'Linen shirt', 'Desk lamp &ldquo;Arc&rdquo;', 'Crème brûlée torch']
const marker = `${BODY_MARKER}${NUMBER_PLACEHOLDER}`

/** 12 KB of HTML with a table of items; no text part. */
export function receipt(random: Random): SampleMail {
  return {
    subject: `Your order ${NUMBER_PLACEHOLDER}`,
    html: receiptHtml(random, RECEIPT_BYTES),
    text: null,
    attachments: [],
  }
}

/** 4 KB of HTML; no text part. */
export function smallHtml(random: Random): SampleMail {
  return {
    subject: `Your order ${NUMBER_PLACEHOLDER}`,
    html: receiptHtml(random, SMALL_BYTES),
    text: null,
    attachments: [],
  }
}

function receiptHtml(random: Random, bytes: number): string {
  const head = [
    textRow(
      `<h1 style="margin:0;font-size:24px;line-height:32px;">Thank you, ${random.pick(NAMES)}!</h1>
            <p style="margin:8px 0 0 0;">Order <strong>${NUMBER_PLACEHOLDER}</strong> &ndash; paid by card</p>`,
    ),
  ]
  const tail = [
    itemRow('<strong>Total</strong>', `<strong>&euro;${price(random)}</strong>`),
    buttonRow('Track your parcel', longUrl(random, `orders/${NUMBER_PLACEHOLDER}`)),
    footerRow(random),
  ]
  const items = fillRows(bytes, [...head, ...tail], (index) =>
    index % 5 === 4
      ? textRow(`<p style="margin:0;">${random.sentence(18)}</p>`)
      : itemRow(
          `${random.pick(PRODUCTS)}<br /><span style="color:#6b7280;">Art. ${random.int(1e5, 1e6)}</span>`,
          `&euro;${price(random)}`,
        ),
  )
  return htmlDocument('Your order', marker, [...head, ...items, ...tail])
}

function itemRow(what: string, amount: string): string {
  return `        <tr>
          <td style="padding:8px 32px;border-bottom:1px solid #e5e7eb;">
            <table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr>
              <td align="left" valign="top" style="${FONT};font-size:15px;color:#3a3f47;">${what}</td>
              <td align="right" valign="top" style="${FONT};font-size:15px;color:#3a3f47;">${amount}</td>
            </tr></table>
          </td>
        </tr>`
}

const price = (random: Random): string => `${random.int(3, 250)}.${random.int(10, 99)}`

/** 1 KB with both parts. */
export function oneTimeCode(random: Random): SampleMail {
  const code = String(random.int(100_000, 999_999))
  const html = `<!doctype html><html><body style="margin:0;padding:24px;${FONT};color:#1f2937;">
<p style="font-size:16px;">Hello,</p>
<p style="font-size:16px;">your code to sign in to Shop &amp; Sons is</p>
<p style="font-size:32px;letter-spacing:6px;font-weight:700;">${code}</p>
<p style="font-size:14px;color:#6b7280;">It is valid for 10&nbsp;minutes.
If you did not request it, ignore this mail.</p>
<p style="font-size:11px;color:#9ca3af;">
${marker}
</p></body></html>
`
  const text = `Hello,

your code to sign in to Shop & Sons is

${code}

It is valid for 10 minutes. If you did not request it, ignore this mail.

${marker}
`
  return { subject: `${code} is your code`, html, text, attachments: [] }
}

/** A short mail with both parts and a PDF of 200 KB. */
export function invoice(random: Random): SampleMail {
  const html = htmlDocument('Your invoice', marker, [
    textRow(`<p style="margin:0;">Dear ${random.pick(NAMES)},</p><p>${random.sentence(30)}</p>`),
    textRow(`<p style="margin:0;">Invoice ${NUMBER_PLACEHOLDER} is attached.</p>`),
    footerRow(random),
  ])
  const text = `Dear customer,\n\n${random.sentence(12)}\n\nInvoice ${NUMBER_PLACEHOLDER} is attached.\n`
  return { subject: `Invoice ${NUMBER_PLACEHOLDER}`, html, text, attachments: [pdf(random)] }
}

/** The frame of a PDF around octets that do not compress, as the streams of a PDF. Its number makes it unique. */
function pdf(random: Random): SampleAttachment {
  const octets = Buffer.alloc(PDF_BYTES)
  for (let i = 0; i < octets.length; i += 4) octets.writeInt32LE(random.int(-2_147_483_648, 2_147_483_647), i)
  octets.write('%PDF-1.7\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n', 'latin1')
  const content = octets.toString('base64')
  const at = 600 // within a stream; digits are letters of base64, too
  return {
    filename: 'invoice.pdf',
    contentType: 'application/pdf',
    content: `${content.slice(0, at)}${NUMBER_PLACEHOLDER}${content.slice(at + NUMBER_PLACEHOLDER.length)}`,
  }
}
