import { assert } from 'chai'
import { connectSmtp, type SmtpConnection } from '#test/support/smtp-connection.ts'
import { startTestSmtpServer, type TestSmtpServer } from './smtp-server.test-data.ts'

const base64 = (value: string): string => Buffer.from(value).toString('base64')
const LOGIN = base64('\0user\0password')

/** What is sent, and what the reply to it begins with; an empty one is the end of the connection. */
const DIALOGS: Readonly<Record<string, readonly (readonly [line: string, ...replies: readonly string[]])[]>> = {
  'greets with HELO and with EHLO': [
    ['HELO a', '250 mx.test'],
    ['EHLO b', '250-mx.test'],
  ],
  'needs a name in EHLO': [
    ['EHLO', '501 5.5.4'],
    ['EHLO a b', '501 5.5.4'],
    ['HELO', '501 5.5.4'],
    ['MAIL FROM:<a@b.example>', '503 5.5.1'],
  ],
  'accepts commands in lower case': [
    ['ehlo a', '250'],
    ['mail from:<a@b.example>', '250 2.1.0'],
    ['rcpt to:<b@b.example>', '250 2.1.5'],
  ],
  'needs EHLO before a transaction': [
    ['MAIL FROM:<a@b.example>', '503'],
    ['RCPT TO:<a@b.example>', '503'],
    ['DATA', '503'],
    ['AUTH PLAIN x', '503'],
  ],
  'needs MAIL before RCPT, and RCPT before DATA': [
    ['EHLO a', '250'],
    ['RCPT TO:<a@b.example>', '503'],
    ['DATA', '503'],
    ['MAIL FROM:<a@b.example>', '250'],
    ['DATA', '503 5.5.1 Send RCPT'],
  ],
  'refuses a second MAIL': [
    ['EHLO a', '250'],
    ['MAIL FROM:<a@b.example>', '250'],
    ['MAIL FROM:<c@b.example>', '503 5.5.1'],
  ],
  'ends the transaction at RSET': [
    ['EHLO a', '250'],
    ['MAIL FROM:<a@b.example>', '250'],
    ['RSET', '250 2.0.0'],
    ['RCPT TO:<a@b.example>', '503'],
    ['MAIL FROM:<c@b.example>', '250'],
  ],
  'ends the transaction at EHLO': [
    ['EHLO a', '250'],
    ['MAIL FROM:<a@b.example>', '250'],
    ['EHLO a', '250'],
    ['RCPT TO:<a@b.example>', '503'],
  ],
  'continues after a refusal': [
    ['EHLO a', '250'],
    ['MAIL FROM:<no@b.example>', '550 5.7.1 No'],
    ['MAIL FROM:<a@b.example>', '250'],
    ['RCPT TO:<no@b.example>', '550'],
    ['DATA', '503'],
  ],
  'replies 451 if a handler fails': [
    ['EHLO a', '250'],
    ['MAIL FROM:<broken@b.example>', '451 4.3.0'],
    ['MAIL FROM:<a@b.example>', '250'],
    ['RCPT TO:<broken@b.example>', '451'],
  ],
  'refuses more recipients than allowed, but not a known one': [
    ['EHLO a', '250'],
    ['MAIL FROM:<>', '250'],
    ['RCPT TO:<1@b.example>', '250'],
    ['RCPT TO:<2@b.example>', '250'],
    ['RCPT TO:<3@b.example>', '250'],
    ['RCPT TO:<4@b.example>', '250'],
    ['RCPT TO:<5@b.example>', '250'],
    ['RCPT TO:<6@b.example>', '452 4.5.3'],
    ['RCPT TO:<5@B.example>', '250'],
  ],
  'refuses a size that is too large': [
    ['EHLO a', '250'],
    ['MAIL FROM:<a@b.example> SIZE=100001', '552 5.3.4'],
    ['RCPT TO:<a@b.example>', '503'],
  ],
  'knows NOOP, HELP, VRFY and RSET': [
    ['NOOP', '250'],
    ['NOOP x', '250'],
    ['HELP', '214'],
    ['VRFY', '501'],
    ['VRFY a', '252'],
    ['RSET', '250'],
  ],
  'refuses arguments of DATA and STARTTLS': [
    ['EHLO a', '250'],
    ['MAIL FROM:<>', '250'],
    ['RCPT TO:<1@b.example>', '250'],
    ['DATA x', '501'],
    ['STARTTLS x', '501'],
  ],
  'accepts PLAIN': [
    ['EHLO a', '250'],
    [`AUTH PLAIN ${LOGIN}`, '235 2.7.0'],
    [`AUTH PLAIN ${LOGIN}`, '503 5.5.1'],
  ],
  'accepts PLAIN in two steps': [
    ['EHLO a', '250'],
    ['AUTH PLAIN', '334 '],
    [LOGIN, '235'],
  ],
  'accepts LOGIN': [
    ['EHLO a', '250'],
    ['auth login', '334 VXNlcm5hbWU6'],
    [base64('u'), '334 UGFzc3dvcmQ6'],
    [base64('password'), '235'],
  ],
  'accepts LOGIN with a user name': [
    ['EHLO a', '250'],
    [`AUTH LOGIN ${base64('u')}`, '334 UGFzc3dvcmQ6'],
    [base64('password'), '235'],
  ],
  'refuses wrong credentials and mechanisms': [
    ['EHLO a', '250'],
    [`AUTH PLAIN ${base64('\0u\0x')}`, '550'],
    [`AUTH PLAIN ${base64('u')}`, '501'],
    ['AUTH PLAIN =', '501'],
    ['AUTH NTLM', '504 5.5.4'],
    ['AUTH', '504'],
    [`AUTH PLAIN ${LOGIN} more`, '501 5.5.4'],
  ],
  'lets a client abort AUTH': [
    ['EHLO a', '250'],
    ['AUTH LOGIN', '334'],
    ['*', '501 5.7.0'],
    ['AUTH PLAIN', '334'],
    ['*', '501'],
    ['NOOP', '250'],
  ],
  'reads a line of AUTH as no command': [
    ['EHLO a', '250'],
    ['AUTH PLAIN', '334'],
    ['QUIT', '501'],
    ['NOOP', '250'],
  ],
  'refuses AUTH in a transaction': [
    ['EHLO a', '250'],
    ['MAIL FROM:<>', '250'],
    [`AUTH PLAIN ${LOGIN}`, '503'],
  ],
  'disconnects after ten unknown commands': [
    ['EHLO a', '250'],
    ['X', '500 5.5.2'],
    ['X', '500'],
    ['BDAT 5', '500'],
    ['X', '500'],
    ['X', '500'],
    ['X', '500'],
    ['X', '500'],
    ['X', '500'],
    ['X', '500'],
    ['X', '421 4.7.0', ''],
  ],
  'disconnects a browser': [['GET / HTTP/1.1', '421 4.7.0', '']],
  'says goodbye': [['QUIT', '221 2.0.0', '']],
}

describe('the commands of an SMTP session', () => {
  let test: TestSmtpServer
  let connection: SmtpConnection
  before(async () => {
    test = await startTestSmtpServer()
  })
  after(() => test.server.stop())
  beforeEach(async () => {
    connection = await connectSmtp(test.port)
  })
  afterEach(() => connection.disconnect())

  for (const [what, dialog] of Object.entries(DIALOGS))
    it(what, async () => {
      for (const [line, ...replies] of dialog) {
        connection.send(`${line}\r\n`)
        for (const expected of replies) {
          const reply = await connection.readReply()
          assert.strictEqual(`${reply} `.slice(0, expected === '' ? undefined : expected.length), expected || ' ', line)
        }
      }
    })
})
