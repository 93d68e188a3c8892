/**
 * Notices modelled on real servers: how they begin, name the address, give the reason and return the message. Written
 * for these tests. A reading is `kind recipient class`, with `!` for a hard bounce.
 */
export interface Sample {
  readonly server: string
  readonly from?: string
  readonly subject: string
  /** An additional header line. */
  readonly header?: string
  readonly text: string
  readonly reading: string
}

export const SAMPLES: readonly Sample[] = [
  {
    server: 'qmail',
    subject: 'failure notice',
    reading: 'bounce ann@b.example no-such-user!',
    text: `
Hi. This is the qmail-send program at mx.b.example.
I'm afraid I wasn't able to deliver your message to the following addresses.
This is a permanent error; I've given up. Sorry it didn't work out.

<ann@b.example>:
Sorry, no mailbox here by that name. (#5.1.1)

--- Below this line is a copy of the message.

Return-Path: <shop@sender.example>
From: shop@sender.example
To: ann@b.example
`,
  },
  {
    server: 'qmail, a full mailbox',
    subject: 'failure notice',
    reading: 'bounce ann@b.example mailbox-full',
    text: `
Hi. This is the qmail-send program at mx.b.example.
I'm afraid I wasn't able to deliver your message to the following addresses.

<ann@b.example>:
mailbox is full: retry timeout exceeded

--- Below this line is a copy of the message.

Return-Path: <shop@sender.example>
From: shop@sender.example
To: ann@b.example
`,
  },
  {
    server: 'Postfix',
    subject: 'Undelivered Mail Returned to Sender',
    reading: 'bounce ann@b.example no-such-user!',
    text: `
This is the mail system at host mail.a.example.

I'm sorry to have to inform you that your message could not
be delivered to one or more recipients.

<ann@b.example>: host mx.b.example[192.0.2.1] said: 550 5.1.1 <ann@b.example>:
    Recipient address rejected: User unknown (in reply to RCPT TO command)
`,
  },
  {
    server: 'Exim',
    subject: 'Mail delivery failed: returning message to sender',
    header: 'X-Failed-Recipients: ann@b.example',
    reading: 'bounce ann@b.example no-such-user!',
    text: `
This message was created automatically by mail delivery software.

A message that you sent could not be delivered to one or more of its
recipients. This is a permanent error. The following address(es) failed:

  ann@b.example
    host mx.b.example [192.0.2.1]
    SMTP error from remote mail server after RCPT TO:<ann@b.example>:
    550 5.1.1 No such user

------ This is a copy of the message, including all the headers. ------
`,
  },
  {
    server: 'Exim, waiting',
    subject: 'Warning: message 1abc delayed 24 hours',
    reading: 'delay ann@b.example',
    text: `
This message was created automatically by mail delivery software.
A message that you sent has not yet been delivered to one or more of its
recipients after more than 24 hours on the queue on mail.a.example.

The address to which the message has not yet been delivered is:

  ann@b.example
    Delay reason: Connection timed out

No action is required on your part. Delivery attempts will continue for
some time.
`,
  },
  {
    server: 'sendmail',
    from: 'Mail Delivery Subsystem <MAILER-DAEMON@b.example>',
    subject: 'Returned mail: see transcript for details',
    reading: 'bounce ann@b.example no-such-user!',
    text: `
The original message was received at Mon, 1 Jan 2024 00:00:00 GMT
from a.example [192.0.2.2]

   ----- The following addresses had permanent fatal errors -----
<ann@b.example>
    (reason: 550 5.1.1 <ann@b.example>... User unknown)

   ----- Transcript of session follows -----
... while talking to mx.b.example.:
>>> RCPT To:<ann@b.example>
<<< 550 5.1.1 <ann@b.example>... User unknown
550 5.1.1 <ann@b.example>... User unknown
`,
  },
  {
    server: 'Exchange',
    from: 'System Administrator <postmaster@b.example>',
    subject: 'Undeliverable: Hello',
    reading: 'bounce ann@b.example no-such-user!',
    text: `
Your message

  To:      ann@b.example
  Subject: Hello
  Sent:    Mon, 1 Jan 2024

did not reach the following recipient(s):

ann@b.example on Mon, 1 Jan 2024 00:00:01 +0000
    The recipient name is not recognized
`,
  },
  {
    server: 'Domino',
    subject: 'DELIVERY FAILURE: User ann (ann@b.example) not listed in Domino Directory',
    reading: 'bounce ann@b.example no-such-user!',
    text: `
Your message

  Subject: Hello

was not delivered to:

  ann@b.example

because:

  User ann (ann@b.example) not listed in Domino Directory
`,
  },
  {
    server: 'GroupWise',
    subject: 'Message status - undeliverable',
    reading: 'bounce ann@b.example no-such-user!',
    text: `
The message that you sent was undeliverable to the following:
	ann@b.example (550 Unknown user)
`,
  },
  {
    server: 'MDaemon',
    from: 'MDaemon@b.example',
    subject: 'Permanent Delivery Failure',
    reading: 'bounce ann@b.example no-such-user!',
    text: `
The attached message had PERMANENT fatal delivery errors!

After one or more unsuccessful delivery attempts the attached message has
been removed from the mail queue on this server.

Failed address: ann@b.example

--- Session Transcript ---
>>> RCPT To:<ann@b.example>
<<< 550 <ann@b.example>, Recipient unknown
`,
  },
  {
    server: 'IMail',
    from: 'Postmaster <postmaster@b.example>',
    subject: 'Undeliverable Mail',
    reading: 'bounce ann@b.example no-such-user!',
    text: `
Unknown user: ann@b.example

Original message follows.

Received: from a.example
`,
  },
  {
    server: 'Courier',
    from: '"Courier mail server at mx.b.example" <@>',
    subject: 'NOTICE: mail delivery status.',
    reading: 'bounce ann@b.example no-such-user!',
    text: `
This is a delivery status notification from mx.b.example,
running the Courier mail server.

                           UNDELIVERABLE MAIL

Your message to the following recipients cannot be delivered:

<ann@b.example>:
    mx.b.example [192.0.2.1]:
>>> RCPT TO:<ann@b.example>
<<< 550 User unknown.
`,
  },
  {
    server: 'Zimbra',
    subject: 'Undelivered Mail Returned to Sender',
    reading: 'bounce ann@b.example mailbox-full',
    text: `
This is the mail system at host zimbra.b.example.

Your message could not be delivered.

<ann@b.example>: host zimbra.b.example[192.0.2.1] said: 452 4.2.2
    Over quota (in reply to end of DATA command)
`,
  },
  {
    server: 'Yandex',
    subject: 'Undelivered mail',
    reading: 'bounce ann@yandex.example no-such-user!',
    text: `
This is the mail system at host yandex.example.

I'm sorry to have to inform you that your message could not be delivered.

<ann@yandex.example>: host mx.yandex.example[192.0.2.1] said: 550 5.7.1 No such user!
    (in reply to RCPT TO command)
`,
  },
  {
    server: 'mail.ru',
    from: 'mailer-daemon@corp.example',
    subject: 'Mail failure',
    header: 'X-Failed-Recipients: ann@mail.example',
    reading: 'bounce ann@mail.example no-such-user!',
    text: `
This message was created automatically by mail delivery software.
Your message was not delivered to one or more of its recipients:

  ann@mail.example
    SMTP error from remote mail server after RCPT TO:<ann@mail.example>:
    550 Message was not accepted -- invalid mailbox. Local mailbox ann@mail.example is unavailable: user not found
`,
  },
  {
    server: 'GMX',
    subject: 'Mail delivery failed: returning message to sender',
    reading: 'bounce ann@gmx.example no-such-user!',
    text: `
This message was created automatically by mail delivery software.

A message that you sent could not be delivered to one or more of its
recipients. The following address failed:

ann@gmx.example:
SMTP error from remote server for RCPT TO command, host: mx.gmx.example
reason: 550 Requested action not taken: mailbox unavailable
`,
  },
  {
    server: 'T-Online',
    subject: 'Undelivered Mail Returned to Sender',
    reading: 'bounce ann@t.example mailbox-full',
    text: `
|------------------------- Message log follows: -------------------------|
 no valid recipients were found for this message
|------------------------- Failed addresses follow: ---------------------|
 <ann@t.example> ... 552 <ann@t.example> mailbox is full: quota exceeded
|------------------------- Message text follows: ------------------------|
`,
  },
  {
    server: 'Orange',
    subject: 'Undelivered Mail Returned to Sender',
    reading: 'bounce ann@orange.example no-such-user!',
    text: `
Ce message a été créé automatiquement: your message could not be delivered.

<ann@orange.example>: host smtp-in.orange.example[192.0.2.1] said: 550 5.1.1
    Adresse d au moins un destinataire invalide. Invalid recipient. OFR_416 (in
    reply to RCPT TO command)
`,
  },
  {
    server: 'a blocked sender',
    subject: 'Undelivered Mail Returned to Sender',
    reading: 'bounce ann@b.example blocked',
    text: `
This is the mail system.

Your message could not be delivered.

<ann@b.example>: host mx.b.example[192.0.2.1] said: 550 5.1.1 blocked using
    zen.spamhaus.org, user unknown (in reply to RCPT TO command)
`,
  },
  {
    server: 'old Exchange, with an address of X.400',
    from: 'System Administrator <postmaster@b.example>',
    subject: 'Undeliverable: Hello',
    reading: 'bounce ann@b.example no-such-user!',
    text: `
Your message

  To:      everybody
  Subject: Hello

did not reach the following recipient(s):

c=DE;a= ;p=B;o=Site;dda:SMTP=ann@b.example; on Mon, 1 Jan 2024
    The recipient name is not recognized
`,
  },
  {
    server: 'MDaemon, with quoted addresses',
    from: 'MDaemon@b.example',
    subject: 'Permanent Delivery Failure',
    reading: 'bounce ann@b.example mailbox-full',
    text: `
The following addresses did NOT receive a copy of your message:

> ann@b.example

--- Session Transcript ---
 MAIL From:<list@sender.example> SIZE=1
 250 <list@sender.example>, Sender ok
 RCPT To:<ann@b.example>
 552 Message for <ann@b.example> would exceed mailbox quota
`,
  },
  {
    server: 'MailEnable',
    from: 'Delivery Subsystem <POSTMASTER@b.example>',
    subject: 'Message Delivery Failure',
    header: 'Auto-Submitted: auto-replied',
    reading: 'bounce ann@b.example no-such-user!',
    text: `
The following recipient(s) could not be reached:

\tRecipient: [SMTP:ann@b.example]
\tReason: Remote SMTP Server Returned: 550 mailbox unavailable or not local.
`,
  },
  {
    server: 'a server that says little',
    from: 'Mail Robot <robot@b.example>',
    subject: 'Processing Error',
    reading: 'bounce ann@b.example message-refused',
    text: `
Intended recipient: ann@b.example

The following mail has been returned because of an error.
`,
  },
  {
    server: 'a gateway that goes on trying, under an encoded subject',
    from: 'Antivirus_for_Gateways@b.example',
    subject: '=?utf-8?B?RGVsaXZlcnkgZmFpbHVyZSBub3RpZmljYXRpb24=?=',
    reading: 'delay ann@b.example',
    text: `
Your message could not be delivered to the following recipients:

ann@b.example

Delivery attempts will continue to be made for 5 day(s).
`,
  },
  {
    server: 'a Chinese server',
    subject: '=?utf-8?B?6YKu5Lu25Lyg6L6T5aSx6LSl?=',
    header: 'Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64',
    reading: 'bounce ann@b.example no-such-user!',
    text: `
${Buffer.from('邮件无法发送到您指定的地址中。\n\n<ann@b.example>:\n收件人不存在\n').toString('base64')}
`,
  },
  {
    server: 'nobody (a person who answers a notice)',
    from: 'Ann <ann@b.example>',
    subject: 'Re: Undelivered Mail Returned to Sender',
    header: 'In-Reply-To: <1@sender.example>',
    reading: 'other',
    text: `
What does this mean?

> Your message could not be delivered.
> 550 user unknown
`,
  },
  {
    server: 'nobody (a person away, in Italian, under an encoded subject)',
    from: 'Ann <ann@b.example>',
    subject: '=?utf-8?Q?Risposta_automatica=3A_ciao?=',
    reading: 'autoreply',
    text: `
Torno presto.
`,
  },
  {
    server: 'nobody (a person away)',
    from: 'Ann <ann@b.example>',
    subject: 'Automatic reply: Hello',
    header: 'X-Autoreply: yes',
    reading: 'autoreply',
    text: `
I am away.
`,
  },
  {
    server: 'nobody (a person away, in German)',
    from: 'Ann <ann@b.example>',
    subject: 'Abwesenheitsnotiz: Hello',
    reading: 'autoreply',
    text: `
Ich bin nicht da.
`,
  },
  {
    server: 'nobody (a challenge)',
    from: 'Ann <ann@b.example>',
    subject: 'Please confirm',
    reading: 'autoreply',
    text: `
To prove that you are human, please verify your message by a click.
`,
  },
  {
    server: 'a Japanese carrier, an address that is gone',
    from: 'Postmaster@carrier.example',
    subject: 'Mail System Error - Returned Mail',
    reading: 'bounce ann@carrier.example no-such-user!',
    text: `
Each of the following recipients was rejected by a remote mail server.
The reasons given by the server are included to help you determine why
each recipient was rejected.

    Recipient: <ann@carrier.example>
    Reason:    550 <ann@carrier.example>: User unknown

    >>> RCPT TO:<ann@carrier.example>
    <<< 550 <ann@carrier.example>: User unknown
`,
  },
  {
    server: 'a Japanese carrier, a limited account',
    from: 'Postmaster@carrier.example',
    subject: 'Mail System Error - Returned Mail',
    reading: 'bounce ann@carrier.example mailbox-disabled',
    text: `
The user(s) account is temporarily limited.

    <ann@carrier.example>
`,
  },
  {
    server: 'a Japanese provider, a full mailbox',
    from: 'postmaster@isp.example',
    subject: 'Returned mail: Delivery problems',
    reading: 'bounce ann@isp.example mailbox-full',
    text: `
   ----- The following addresses had delivery problems -----
ann@isp.example

   ----- Non-delivered information -----
The number of messages in recipient's mailbox exceeded the local limit.
`,
  },
  {
    server: 'a Japanese mail service, a domain that is gone',
    from: 'no-reply@service.example',
    subject: 'Notification: your mail was not sent',
    header: 'Return-Path: <>',
    reading: 'bounce ann@b.example no-such-domain!',
    text: `
Your mail sent on: Thu, 1 Jan 2026 00:00:00 +0900
    Could not be delivered to: <ann@b.example>
    As the remote domain doesnt exist
`,
  },
  {
    server: 'a list of delivery errors with the reason in brackets',
    from: '"Mail Deliver System" <Postmaster@b.example>',
    subject: 'Returned mail',
    reading: 'bounce ann@b.example no-such-user!',
    text: `
The original message was received at Thu, 1 Jan 2026 00:00:00 +0900
from shop@sender.example

---The following addresses had delivery errors---

ann@b.example [User unknown]
`,
  },
  {
    server: 'a server that counts its errors',
    from: 'MAILER-DAEMON@a.example',
    subject: 'There was an error sending your mail',
    reading: 'bounce ann@b.example no-such-user!',
    text: `
We had trouble delivering your message. Full details follow:

Subject: 'Hello'
Date: 'Thu, 1 Jan 2026 00:00:00'

1 error(s):

SMTP Server <mx.b.example> rejected recipient <ann@b.example>
  (Error following RCPT command). It responded as follows: [550 5.1.1 unknown or illegal alias]
`,
  },
  {
    server: 'DragonFly',
    subject: 'Mail delivery failed',
    reading: 'bounce ann@b.example no-such-user!',
    text: `
This is the DragonFly Mail Agent at df.a.example.

There was an error delivering your mail to <ann@b.example>.

mx.b.example [192.0.2.1] did not like our RCPT TO:
550 5.1.1 User Unknown

Message headers follow.

Received: from a.example
`,
  },
  {
    server: 'DragonFly, after the mail was sent',
    subject: 'Mail delivery failed',
    reading: 'bounce ann@b.example spam',
    text: `
This is the DragonFly Mail Agent at df.a.example.

There was an error delivering your mail to <ann@b.example>.

mx.b.example [192.0.2.1] did not like our final DATA:
554 5.7.1 This looks like unsolicited mail

Message headers follow.
`,
  },
  {
    server: 'MailFoundry',
    subject: 'Message delivery has failed',
    reading: 'bounce ann@b.example no-such-user!',
    text: `
Unable to deliver message to: <ann@b.example>
Delivery failed for the following reason:
Server mx.b.example[192.0.2.1] failed with: 550 <ann@b.example> No such user here

This has been a permanent failure.  No further delivery attempts will be made.
`,
  },
  {
    server: 'McAfee',
    from: 'postmaster@b.example',
    subject: 'Delivery Status',
    reading: 'bounce ann@b.example no-such-user!',
    text: `
--- The following addresses had delivery problems ---

<ann@b.example>   (User unknown ann@b.example)

--------------Original message headers
`,
  },
  {
    server: 'MailMarshal',
    from: 'Postmaster@b.example',
    subject: 'Undeliverable Mail: "Hello"',
    reading: 'bounce ann@b.example mailbox-full',
    text: `
Your message:
   From:    shop@sender.example
   Subject: Hello

Could not be delivered because of

552 5.2.2 Mailbox is full

The following recipients were affected:
    ann@b.example

Additional Information
======================
`,
  },
  {
    server: 'Zoho',
    subject: 'Undelivered Mail Returned to Sender',
    reading: 'bounce ann@b.example no-such-user!',
    text: `
This message was created automatically by mail delivery software.
 A message that you sent could not be delivered to one or more of its recipients. This is a permanent error.

ann@b.example Invalid Address, ERROR_CODE :550, ERROR_CODE :5.1.1 <ann@b.example>: Recipient \
address rejected: User unknown
`,
  },
  {
    server: 'Zoho, a host that does not answer',
    subject: 'Undelivered Mail Returned to Sender',
    reading: 'bounce ann@b.example network',
    text: `
This message was created automatically by mail delivery software.
A message that you sent could not be delivered to one or more of its recipients.

[Status: Error, Address: <ann@b.example>, ResponseCode 421, , Host not reachable.]
`,
  },
  {
    server: 'an American carrier',
    from: 'post_master@text.example',
    subject: 'Undeliverable Message',
    reading: 'bounce 2015550100@text.example no-such-user!',
    text: `
Error:     550 - Requested action not taken: no such user here

Message details:
  Subject: Hello
  MAIL FROM: shop@sender.example
  RCPT TO: 2015550100@text.example
`,
  },
  {
    server: 'Facebook',
    subject: 'Sorry, your message could not be delivered',
    reading: 'bounce ann@b.example recipient-filter',
    text: `
This message was created automatically by our mail system.

<ann@b.example>: 550 5.1.1 RCP-P1 Refused due to recipient preferences
`,
  },
  {
    server: 'IMail, a host that is unknown',
    from: 'Postmaster <postmaster@a.example>',
    subject: 'Undeliverable Mail',
    reading: 'bounce ann@b.example no-such-domain!',
    text: `
Unknown host: ann@b.example

Original message follows.
`,
  },
  {
    server: 'GroupWise, blocked',
    subject: 'Message status - undeliverable',
    reading: 'bounce ann@b.example blocked',
    text: `
The message that you sent was undeliverable to the following:
	ann@b.example (550 Rejected: 192.0.2.1 is listed at bl.b.example)
`,
  },
  {
    server: 'Exim, a sender who cannot be verified',
    subject: 'Mail delivery failed: returning message to sender',
    header: 'X-Failed-Recipients: ann@b.example',
    reading: 'bounce ann@b.example sender-refused',
    text: `
This message was created automatically by mail delivery software.

A message that you sent could not be delivered to one or more of its
recipients. This is a permanent error. The following address(es) failed:

  ann@b.example
    SMTP error from remote mail server after RCPT TO:<ann@b.example>:
    550-Verification failed for <shop@sender.example>
    550-The mail server said: No Such User Here
    550 Sender verify failed
`,
  },
  {
    server: 'Mimecast',
    subject: '[Postmaster] Email Delivery Failure',
    reading: 'bounce ann@b.example no-such-user!',
    text: `
This is a delivery failure notification message indicating that
an email addressed to email address :
-- ann@b.example

could not be delivered. The problem appears to be :
-- Recipient email address is possibly incorrect

Additional information follows :
-- 5.1.1 User Unknown
`,
  },
  {
    server: 'a German provider',
    from: 'Postmaster@b.example',
    subject: 'Unzustellbar: Hallo',
    reading: 'bounce ann@b.example mailbox-full',
    text: `
Ihre Nachricht konnte nicht zugestellt werden an:

  ann@b.example
    Das Postfach ist voll.
`,
  },
  {
    server: 'a French provider',
    from: 'postmaster@b.example',
    subject: 'Echec de la distribution',
    reading: 'bounce ann@b.example no-such-user!',
    text: `
Votre message n'a pas pu etre remis a

<ann@b.example>:
Utilisateur inconnu
`,
  },
  {
    server: 'nobody (a system that answers)',
    from: 'Help desk <desk@b.example>',
    subject: 'Re: Hello',
    header: 'Auto-Submitted: auto-generated\nIn-Reply-To: <1@sender.example>',
    reading: 'autoreply',
    text: `
We have your mail. Your ticket is 4711.
`,
  },
  {
    server: 'nobody (a person away, by Precedence and words only)',
    from: 'Ann <ann@b.example>',
    subject: 'Re: Hello',
    header: 'Precedence: bulk',
    reading: 'autoreply',
    text: `
I am out of the office until Monday.
`,
  },
  {
    server: 'nobody (an answer from nobody)',
    from: 'Ann <ann@b.example>',
    subject: 'Thank you for your mail',
    header: 'Return-Path: <>',
    reading: 'autoreply',
    text: `
I will answer soon.
`,
  },
  {
    server: 'nobody (a list of allowed senders)',
    from: 'Ann <ann@b.example>',
    subject: 'Hello',
    reading: 'autoreply',
    text: `
This account is protected. Please click on the following link to have your
address added to the allowed list and to ensure delivery of your email.
`,
  },
  {
    server: 'nobody (a mail of a system)',
    from: 'cron <root@b.example>',
    subject: 'Nightly report',
    header: 'Auto-Submitted: auto-generated',
    reading: 'other',
    text: `
All is well.
`,
  },
  {
    server: 'nobody (a person)',
    from: 'Ann <ann@b.example>',
    subject: 'Re: Hello',
    reading: 'other',
    text: `
Thank you, see you on Monday.
`,
  },
]
