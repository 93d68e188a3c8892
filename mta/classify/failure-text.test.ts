import { assert } from 'chai'
import { classifyFailureText, isConfirmed, findRejectedCommand, findStatusCode } from './failure-text.ts'
import type { RejectedCommand } from './failure-patterns.ts'

/** Texts of servers and their class; `!` marks a hard bounce. */
const SAID: readonly (readonly [text: string, expected: string])[] = [
  // no such user
  ['Sorry, no mailbox here by that name. (#5.1.1)', 'no-such-user!'],
  ['550 5.1.1 <x>: Recipient address rejected: User unknown in virtual mailbox table', 'no-such-user!'],
  [
    '550-5.1.1 The email account that you tried to reach does not exist. Please try double-checking the address',
    'no-such-user!',
  ],
  ['550 Requested action not taken: mailbox unavailable', 'no-such-user!'],
  ['550 5.1.1 RESOLVER.ADR.RecipNotFound; not found', 'no-such-user!'],
  ['User x (x@b.example) not listed in Domino Directory', 'no-such-user!'],
  ["554 delivery error: dd This user doesn't have a yahoo.com account (x@yahoo.com)", 'no-such-user!'],
  ['550 Unrouteable address', 'no-such-domain!'],
  // a block list is evidence even where it is only a link, and beside "unknown"
  ['550 5.1.1 no such user, https://www.spamhaus.org/sbl/query/SBL1', 'blocked'],
  ['550 http://www.barracudacentral.org/reputation?pr=1&ip=192.0.2.1', 'blocked'],
  ['550 5.1.1 User unknown; 192.0.2.1 listed by ix.dnsbl.manitu.net', 'blocked'],
  ['554 User unknown: cbl.abuseat.org', 'blocked'],
  ['550 5.1.1 no such user, see http://b.example/blocked', 'no-such-user!'],
  ['550 No such person at this address', 'no-such-user!'],
  ['Name service error for name=b.example type=MX: Host not found, try again', 'network'],
  ['550 b.example: SERVFAIL, host unknown', 'network'],
  ['550: User unknown', 'no-such-user!'],
  ['550 : User unknown', 'recipient-filter'],
  ['Error: No valid recipients for this MM', 'no-such-user!'],
  ['550 Invalid recipient x@b.example', 'no-such-user!'],
  ['The recipient name is not recognized', 'no-such-user!'],
  ['550 unknown user', 'no-such-user!'],
  ['Destinataire inconnu: adresse invalide', 'no-such-user!'],
  ['Empfänger unbekannt', 'no-such-user!'],
  ['550 El usuario no existe', 'no-such-user!'],
  ['This account has been terminated: account is closed', 'no-such-user!'],
  ['550 Recipient unrecognized', 'no-such-user!'],
  ['553 This address no longer accepts mail', 'no-such-user!'],
  ['550 We do not have an account here by that name', 'no-such-user!'],
  ['550 <x@b.example> is invalid', 'no-such-user!'],
  ["554 RCPT (x@b.example) dosn't exist", 'no-such-user!'],
  ['550 Unable to find the alias user', 'no-such-user!'],
  ['Invalid final delivery userid: x', 'no-such-user!'],
  ['550 x was not found in LDAP', 'no-such-user!'],
  ['550 #5.1.0 Address rejected.', 'no-such-user!'],
  ['550 5.7.1 Requested action not taken: mailbox not available', 'no-such-user!'],
  ['550 Mail Refused - Address x@b.example Unknown - User not found', 'no-such-user!'],
  ['550 5.1.0 Address rejected x@b.example', 'no-such-user!'],
  ['550 The recipient cannot be verified. Please check all recipients', 'no-such-user!'],
  ['550 RecipientAddress is invalid', 'no-such-user!'],
  ['550 5.4.1 All recipient addresses rejected : Access denied AS(201806281)', 'no-such-user!'],
  [
    'host d1.ess.barracudanetworks.com[192.0.2.1] said: ' +
      '550 permanent failure for one or more recipients (x@b.example:\n550 5.1.1 User unknown)',
    'no-such-user!',
  ],
  ['... while talking to mx.blocked.example: 550 no such user', 'no-such-user!'],
  // no such domain, no mail
  ['no valid MX hosts found', 'no-such-domain!'],
  ['No MX found for destination', 'no-such-domain!'],
  ['554 because the domain is not reachable. Please check the domain', 'no-such-domain!'],
  ['all relevant MX records point to non-existent hosts', 'no-such-domain!'],
  ["Sorry, I could not deliver: couldn't find a mail exchanger or IP address. (#5.4.4)", 'no-such-domain!'],
  ['550 5.4.310 DNS domain b.example does not exist', 'no-such-domain!'],
  ['an MX or SRV record indicated no SMTP service', 'no-mail-accepted!'],
  ['Host or domain name not found. Name service error for name=b.example type=A: Host not found', 'no-such-domain!'],
  ["Sorry, I couldn't find any host named b.example. (#5.1.2)", 'no-such-domain!'],
  ['The domain b.example does not accept mail (nullMX)', 'no-mail-accepted!'],
  ['The user has moved to another company', 'moved!'],
  // temporary mailbox failures
  ['552 5.2.2 mailbox full', 'mailbox-full'],
  ['452 4.2.2 The email account that you tried to reach is over quota', 'mailbox-full'],
  ['Benutzer hat zuviele Mails auf dem Server: user is over quota', 'mailbox-full'],
  ['550 5.2.1 The email account that you tried to reach is disabled', 'mailbox-disabled'],
  ['550 This mailbox is inactive', 'mailbox-disabled'],
  ['552 message size exceeds fixed maximum message size', 'too-large'],
  ['422 User mailbox exceeds allowed size', 'mailbox-full'],
  ['552 Account does not have enough space', 'mailbox-full'],
  ['cannot append message to file /var/mail/x: error writing message: File too large', 'mailbox-full'],
  ['550 user account not activated', 'mailbox-disabled'],
  ['554 mailbox x is restricted', 'mailbox-disabled'],
  ['553 User refused to receive this mail', 'recipient-filter'],
  ['550 The user does not accept email in non-Western character sets', 'recipient-filter'],
  // the sender
  ['554 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org', 'blocked'],
  ['550 5.7.1 Message rejected as spam', 'spam'],
  ['554 Host mx.a.example blocked using bl.barracudacentral.org', 'blocked'],
  ['550 rejected because the sending host is in a block list, user unknown', 'blocked'],
  ['550 5.7.26 This mail is unauthenticated, which poses a security risk', 'authentication'],
  ['550 5.7.25 The IP address sending this message does not have a PTR record', 'no-reverse-dns'],
  ['554 5.7.1 <x>: Relay access denied', 'relay-denied'],
  ['450 4.2.0 <x>: Recipient address rejected: Greylisted', 'greylisted'],
  ['421 4.7.0 Too many connections from your IP', 'throttled'],
  ['550 Daily user sending quota exceeded', 'throttled'],
  ['554 5.2.0 STOREDRV.Submission.Exception:SubmissionQuotaExceededException', 'throttled'],
  ['550 Sender verify failed', 'sender-refused'],
  ['550 5.1.8 <x@a.example>: Sender address rejected: Domain not found', 'sender-refused'],
  ['550 5.1.0 <x@a.example>: Sender address rejected: User unknown in virtual mailbox table', 'sender-refused'],
  ['554 Your IP address was rejected', 'blocked'],
  ['554 Sender IP rejected', 'blocked'],
  ['554 5.7.1 Message contains a virus', 'virus'],
  ['550 5.7.1 Refused by local policy', 'policy'],
  [
    '550 5.7.1 The group only accepts messages from people in its organization: you are not allowed to send',
    'sender-refused',
  ],
  ['550 <mx.a.example>: Helo command rejected: Host not found', 'blocked'],
  ['550 not local host b.example, not a gateway', 'relay-denied'],
  ["553 that domain isn't in my list of allowed rcpthosts", 'relay-denied'],
  ['550 Your sending domain does not exist', 'sender-refused'],
  ['550 Verify mailfrom failed: user unknown', 'sender-refused'],
  ['535 5.7.8 Invalid user name or password', 'authentication'],
  ['550 Message filtered', 'spam'],
  ['550 Your domain has no MX records', 'sender-refused'],
  ["553 Your mail server's host name was not found", 'sender-refused'],
  ['550 Your e-mail address is not valid', 'sender-refused'],
  ['550 The account you are sending from does not exist', 'sender-refused'],
  ['550 The sender address shop@a.example is unknown', 'sender-refused'],
  ['550 Directory harvest attack: invalid recipients', 'blocked'],
  ['550 Not accepting mail from unknown users', 'recipient-filter'],
  // the path to the receiver
  ['550 mailbox is temporarily not found; migration in progress', 'system'],
  ['554 5.3.5 Local configuration error: host unknown', 'system'],
  ["I'm not going to try again; this message has been in the queue too long.", 'expired'],
  ['550 5.4.316 Message expired, connection refused(Socket error code 10061)', 'expired'],
  ['503 5.5.1 Bad sequence of commands after the address', 'protocol'],
  ["554 5.3.0 the user's program gave an unknown mailer error 255", 'system'],
  ['recipient could not be reached. Bad connection to the next host', 'unknown'],
  ['connect to mx.b.example: Connection timed out', 'network'],
  ['550 5.4.6 Hop count exceeded - possible mail loop', 'loop'],
  ['554 5.4.6 Too many hops', 'loop'],
  ['message could not be delivered for 5 days, giving up', 'expired'],
  ['421 Host not reachable', 'network'],
  ['451 4.3.0 Temporary system problem, try again later', 'system'],
  // other languages
  ['550 Unbekannter Empfänger', 'no-such-user!'],
  ['550 Empfaenger existiert nicht', 'no-such-user!'],
  ["550 Cette adresse n'existe pas", 'no-such-user!'],
  ['550 boîte aux lettres inexistante', 'no-such-user!'],
  ['550 El buzón no existe', 'no-such-user!'],
  ['550 No existe el usuario', 'no-such-user!'],
  ['550 Destinatário não encontrado', 'no-such-user!'],
  ['550 Utente non trovato', 'no-such-user!'],
  ['550 Onbekende gebruiker', 'no-such-user!'],
  ['550 Okänd mottagare', 'no-such-user!'],
  ['550 Nie ma takiego konta', 'no-such-user!'],
  ['550 Neznámý uživatel', 'no-such-user!'],
  ['550 Такой пользователь не найден', 'no-such-user!'],
  ['550 宛先のアドレスが見つかりません', 'no-such-user!'],
  ['550 收件人不存在', 'no-such-user!'],
  ['550 사용자를 찾을 수 없습니다', 'no-such-user!'],
  ['550 No se encontró la dirección de correo', 'no-such-user!'],
  ['550 Não foi possível encontrar o endereço', 'no-such-user!'],
  ['550 Det gick inte att hitta e-postadressen', 'no-such-user!'],
  ['550 Nie można odnaleźć adresu e-mail', 'no-such-user!'],
  ['550 e-posta adresi bulunamadı', 'no-such-user!'],
  ['550 Käyttäjää ei ole olemassa', 'no-such-user!'],
  ['550 A felhasználó nem létezik', 'no-such-user!'],
  ['550 Utilizatorul nu există', 'no-such-user!'],
  ['550 Ο παραλήπτης δεν υπάρχει', 'no-such-user!'],
  ['550 Користувача не знайдено', 'no-such-user!'],
  ['552 Das Postfach ist leider voll', 'mailbox-full'],
  ['552 La boîte aux lettres est pleine', 'mailbox-full'],
  ['552 El buzón está lleno', 'mailbox-full'],
  ['552 A caixa postal está cheia', 'mailbox-full'],
  ['552 La casella è piena', 'mailbox-full'],
  ['552 Почтовый ящик переполнен', 'mailbox-full'],
  ['552 受信者の容量を超えています', 'mailbox-full'],
  ['552 邮箱空间已满', 'mailbox-full'],
  ['550 Das Konto ist gesperrt', 'mailbox-disabled'],
  ['550 Cuenta suspendida', 'mailbox-disabled'],
  ['550 Ящик заблокирован', 'mailbox-disabled'],
  ['550 Nachricht abgelehnt', 'policy'],
  ['550 Mensaje rechazado', 'policy'],
  ['550 邮件被拒绝', 'policy'],
  ['550 受信拒否', 'recipient-filter'],
  ["Le groupe n'existe pas, ou vous n'êtes pas autorisé", 'sender-refused'],
  ['', 'unknown'],
  ['something else entirely', 'unknown'],
]

const STATUSES: readonly (readonly [status: string, expected: string])[] = [
  ['5.1.1', 'no-such-user!'],
  ['5.1.351', 'no-such-user!'],
  ['5.1.2', 'no-such-domain!'],
  ['5.1.10', 'no-such-domain!'],
  ['5.1.3', 'bad-address!'],
  ['5.1.6', 'moved!'],
  ['5.1.0', 'address'],
  ['5.2.1', 'mailbox-disabled'],
  ['5.2.2', 'mailbox-full'],
  ['5.3.4', 'too-large'],
  ['5.4.7', 'expired'],
  ['5.4.4', 'network'],
  ['5.6.0', 'message-refused'],
  ['5.7.1', 'policy'],
  ['4.1.1', 'no-such-user'],
  ['5.0.0', 'unknown'],
  ['5.9.9', 'unknown'],
]

const labelOf = ({ class: name, isHard }: { readonly class: string; readonly isHard: boolean }): string =>
  name + (isHard ? '!' : '')

describe('classification of failure texts', () => {
  for (const [text, expected] of SAID)
    it(`${text} (${expected})`, () => assert.strictEqual(labelOf(classifyFailureText(text, null, null)), expected))
  for (const [status, expected] of STATUSES) {
    it(`status ${status} without text (${expected})`, () =>
      assert.strictEqual(labelOf(classifyFailureText('', status, null)), expected))
  }

  it('the text has priority over the status code', () =>
    assert.strictEqual(labelOf(classifyFailureText('mailbox full', '5.1.1', 'rcpt')), 'mailbox-full'))
  for (const command of ['mail', 'connect'] as const) {
    it(`a rejection at ${command} is about the sender`, () => {
      assert.strictEqual(labelOf(classifyFailureText('no such user', '5.1.1', command)), 'sender-refused')
    })
  }

  const CONFIRMED: readonly (readonly [status: string | null, command: RejectedCommand | null, isSo: boolean])[] = [
    ['5.1.1', 'data', true],
    ['5.2.1', null, true],
    ['5.7.1', null, false],
    ['5.7.1', 'rcpt', true],
    [null, null, true],
    [null, 'data', false],
    ['5.0.0', null, false],
    ['5.5.0', null, true],
    ['5.5.0', 'data', false],
  ]
  for (const [status, command, isSo] of CONFIRMED) {
    const context = `${status ?? 'no status'} at ${command ?? 'an unknown command'}`
    it(`"no such user" with ${context}: ${isSo ? 'credible' : 'not credible'}`, () => {
      assert.strictEqual(isConfirmed({ class: 'no-such-user', isHard: true }, status, command), isSo)
    })
  }

  it('"invalid mailbox" after DATA is credible from a server that validates recipients only then', () => {
    const expected = classifyFailureText(
      '550 Message was not accepted -- invalid mailbox. Local mailbox x: user not found',
      null,
      'data',
    )
    assert.strictEqual(expected.isHard && isConfirmed(expected, null, 'data'), true)
  })

  it('finds the rejected command and the innermost status code', () => {
    assert.deepEqual(
      [
        'said: 550 (in reply to RCPT TO command)',
        'said: 550 no (in reply to\n    RCPT TO command)',
        'said: 550 no (in reply to end of\n    DATA command)',
        '>>> DATA\n<<< 550 no such user\n<<< 503 need RCPT',
        '>>> DATA\n<<< 550 5.0.0 no such user\n<<< 503 need RCPT',
        '>>> DATA\n<<< 550 spam',
        '(in reply to end of DATA command)',
        '>>> MAIL From:<a@b>',
        'hello',
      ].map(findRejectedCommand),
      ['rcpt', 'rcpt', 'data', 'rcpt', 'data', 'data', 'data', 'mail', null],
    )
    assert.deepEqual(
      [findStatusCode('550 5.1.1 said: 5.2.2 full'), findStatusCode('version 1.5.1.1.2'), findStatusCode('')],
      ['5.2.2', null, null],
    )
  })
})
