import assert from 'node:assert/strict'
import { readFailure, isConfirmed, type Command, commandOf, statusIn } from './wordings.ts'

/** What servers say, by class; `!` marks those that condemn the address. */
const SAID: readonly (readonly [text: string, reading: string])[] = [
  // no such user
  ['Sorry, no mailbox here by that name. (#5.1.1)', 'no-such-user!'],
  ['550 5.1.1 <x>: Recipient address rejected: User unknown in virtual mailbox table', 'no-such-user!'],
  ['550-5.1.1 The email account that you tried to reach does not exist. Please try double-checking the address', 'no-such-user!'],
  ['550 Requested action not taken: mailbox unavailable', 'no-such-user!'],
  ['550 5.1.1 RESOLVER.ADR.RecipNotFound; not found', 'no-such-user!'],
  ['User x (x@b.example) not listed in Domino Directory', 'no-such-user!'],
  ['554 delivery error: dd This user doesn\'t have a yahoo.com account (x@yahoo.com)', 'no-such-user!'],
  ['550 Unrouteable address', 'no-such-domain!'],
  ['550 No such person at this address', 'no-such-user!'],
  ['550 Invalid recipient x@b.example', 'no-such-user!'],
  ['The recipient name is not recognized', 'no-such-user!'],
  ['550 unknown user', 'no-such-user!'],
  ['Destinataire inconnu: adresse invalide', 'no-such-user!'],
  ['Empfänger unbekannt', 'no-such-user!'],
  ['550 El usuario no existe', 'no-such-user!'],
  ['This account has been terminated: account is closed', 'no-such-user!'],
  // no such domain, no mail
  ['Host or domain name not found. Name service error for name=b.example type=A: Host not found', 'no-such-domain!'],
  ['Sorry, I couldn\'t find any host named b.example. (#5.1.2)', 'no-such-domain!'],
  ['The domain b.example does not accept mail (nullMX)', 'no-mail-accepted!'],
  ['The user has moved to another company', 'moved!'],
  // the mailbox, for now
  ['552 5.2.2 mailbox full', 'mailbox-full'],
  ['452 4.2.2 The email account that you tried to reach is over quota', 'mailbox-full'],
  ['Benutzer hat zuviele Mails auf dem Server: user is over quota', 'mailbox-full'],
  ['550 5.2.1 The email account that you tried to reach is disabled', 'mailbox-disabled'],
  ['550 This mailbox is inactive', 'mailbox-disabled'],
  ['552 message size exceeds fixed maximum message size', 'too-large'],
  // us
  ['554 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org', 'blocked'],
  ['550 5.7.1 Message rejected as spam', 'spam'],
  ['550 rejected because the sending host is in a block list, user unknown', 'blocked'],
  ['550 5.7.26 This mail is unauthenticated, which poses a security risk', 'authentication'],
  ['550 5.7.25 The IP address sending this message does not have a PTR record', 'no-reverse-dns'],
  ['554 5.7.1 <x>: Relay access denied', 'relay-denied'],
  ['450 4.2.0 <x>: Recipient address rejected: Greylisted', 'greylisted'],
  ['421 4.7.0 Too many connections from your IP', 'throttled'],
  ['550 Sender verify failed', 'sender-refused'],
  ['554 5.7.1 Message contains a virus', 'virus'],
  ['550 5.7.1 Refused by local policy', 'policy'],
  ['550 5.7.1 The group only accepts messages from people in its organization: you are not allowed to send', 'sender-refused'],
  // the way
  ['connect to mx.b.example: Connection timed out', 'network'],
  ['550 5.4.6 Hop count exceeded - possible mail loop', 'loop'],
  ['message could not be delivered for 5 days, giving up', 'expired'],
  ['451 4.3.0 Temporary system problem, try again later', 'system'],
  ['', 'unknown'],
  ['something else entirely', 'unknown'],
]

const STATUSES: readonly (readonly [status: string, reading: string])[] = [
  ['5.1.1', 'no-such-user!'], ['5.1.351', 'no-such-user!'], ['5.1.2', 'no-such-domain!'], ['5.1.10', 'no-such-domain!'], ['5.1.3',
  'bad-address!'],
  ['5.1.6', 'moved!'], ['5.1.0', 'address'], ['5.2.1', 'mailbox-disabled'], ['5.2.2', 'mailbox-full'], ['5.3.4', 'too-large'], ['5.4.7',
  'expired'],
  ['5.4.4', 'network'], ['5.6.0', 'message-refused'], ['5.7.1', 'policy'], ['4.1.1', 'no-such-user'], ['5.0.0', 'unknown'], ['5.9.9',
  'unknown'],
]

const told = ({ class: name, isHard }: { readonly class: string; readonly isHard: boolean }): string => name + (isHard ? '!' : '')

describe('what servers say', () => {
  for (const [text, reading] of SAID) it(`${text} (${reading})`, () => assert.equal(told(readFailure(text, null, null)), reading))
  for (const [status, reading] of STATUSES) {
    it(`nothing but ${status} (${reading})`, () => assert.equal(told(readFailure('', status, null)), reading))
  }

  it('words go before the status', () => assert.equal(told(readFailure('mailbox full', '5.1.1', 'rcpt')), 'mailbox-full'))
  for (const command of ['mail', 'connect'] as const) {
    it(`what ${command} was refused with is about the sender`, () => assert.equal(told(readFailure('no such user', '5.1.1', command)), 'sender-refused'))
  }

  const CONFIRMED: readonly (readonly [status: string | null, command: Command | null, isSo: boolean])[] = [
    ['5.1.1', 'data', true], ['5.2.1', null, true], ['5.7.1', null, false], ['5.7.1', 'rcpt', true], [null, null, true], [null, 'data',
    false], ['5.0.0', null, false],
  ]
  for (const [status, command, isSo] of CONFIRMED) {
    it(`"no such user" with ${status ?? 'no status'}, said to ${command ?? 'nobody knows what'}: ${isSo ? 'believed' : 'not believed'}`, () => {
      assert.equal(isConfirmed({ class: 'no-such-user', isHard: true }, status, command), isSo)
    })
  }

  it('finds the command that was answered, and the innermost status', () => {
    assert.deepEqual(['said: 550 (in reply to RCPT TO command)', '(in reply to end of DATA command)', '>>> MAIL From:<a@b>',
      'hello'].map(commandOf),
      ['rcpt', 'data', 'mail', null])
    assert.deepEqual([statusIn('550 5.1.1 said: 5.2.2 full'), statusIn('version 1.5.1.1.2'), statusIn('')], ['5.2.2', null, null])
  })
})
