// Sends one mail by SMTP: npm install nodemailer. The submission port of the server must be on.
import { createTransport } from 'nodemailer'

const { MAILSTEAD_SMTP_HOST, MAILSTEAD_SMTP_PORT = '587', MAILSTEAD_KEY, MAILSTEAD_FROM, MAILSTEAD_TO } = process.env

const transport = createTransport({
  host: MAILSTEAD_SMTP_HOST,
  port: Number(MAILSTEAD_SMTP_PORT),
  secure: MAILSTEAD_SMTP_PORT === '465', // TLS from the first byte; 587 and 2525 begin in the clear
  requireTLS: true, // and go on with STARTTLS, or not at all
  auth: { user: 'mailstead', pass: MAILSTEAD_KEY },
})

const { response } = await transport.sendMail({
  from: MAILSTEAD_FROM,
  to: MAILSTEAD_TO,
  subject: 'Your order',
  text: 'Hello, your order is on its way.',
  headers: { 'X-Priority-Tier': 'instant', 'X-Tag': 'order' },
})
console.log(response)
