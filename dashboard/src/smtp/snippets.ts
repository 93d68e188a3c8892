/**
 * Sending over SMTP from programs and languages. The key is never part of an example: it comes from the environment.
 */
import type { Snippet } from '#dashboard/src/shared/snippets.tsx'

export interface SmtpServer {
  readonly host: string
  readonly starttls_port: number
  readonly tls_port: number
}

export function smtpSnippets(server: SmtpServer, from: string): readonly Snippet[] {
  return [
    { key: 'swaks', label: 'swaks', code: swaks(server, from) },
    { key: 'curl', label: 'curl', code: curl(server, from) },
    { key: 'node', label: 'Node.js', code: nodemailer(server, from) },
    { key: 'python', label: 'Python', code: python(server, from) },
    { key: 'php', label: 'PHP', code: php(server, from) },
    { key: 'postfix', label: 'Postfix', code: postfix(server) },
    { key: 'wordpress', label: 'WordPress', code: wordpress(server, from) },
  ]
}

function swaks({ host, starttls_port: port }: SmtpServer, from: string): string {
  return `swaks --server ${host}:${port} --tls --auth PLAIN \\
  --auth-user apikey --auth-password "$MAILSTEAD_KEY" \\
  --from ${from} --to ann@example.com --header 'Subject: Hello'`
}

function curl({ host, tls_port: port }: SmtpServer, from: string): string {
  return `curl smtps://${host}:${port} --user "apikey:$MAILSTEAD_KEY" \\
  --mail-from ${from} --mail-rcpt ann@example.com --upload-file - <<'MAIL'
From: ${from}
To: ann@example.com
Subject: Hello

It works.
MAIL`
}

function nodemailer({ host, tls_port: port }: SmtpServer, from: string): string {
  return `// npm install nodemailer
import nodemailer from 'nodemailer'

const transport = nodemailer.createTransport({
  host: '${host}',
  port: ${port},
  secure: true,
  auth: { user: 'apikey', pass: process.env.MAILSTEAD_KEY },
})
await transport.sendMail({
  from: '${from}',
  to: 'ann@example.com',
  subject: 'Hello',
  html: '<p>It works.</p>',
  headers: { 'X-Tag': 'welcome' },
})`
}

function python({ host, starttls_port: port }: SmtpServer, from: string): string {
  return `import os, smtplib, ssl
from email.message import EmailMessage

mail = EmailMessage()
mail["From"] = "${from}"
mail["To"] = "ann@example.com"
mail["Subject"] = "Hello"
mail["X-Tag"] = "welcome"
mail.set_content("It works.")

with smtplib.SMTP("${host}", ${port}) as server:
    server.starttls(context=ssl.create_default_context())
    server.login("apikey", os.environ["MAILSTEAD_KEY"])
    server.send_message(mail)`
}

function php({ host, starttls_port: port }: SmtpServer, from: string): string {
  return `<?php
// composer require phpmailer/phpmailer
require 'vendor/autoload.php';
use PHPMailer\\PHPMailer\\PHPMailer;

$mail = new PHPMailer(true);
$mail->isSMTP();
$mail->Host = '${host}';
$mail->Port = ${port};
$mail->SMTPSecure = PHPMailer::ENCRYPTION_STARTTLS;
$mail->SMTPAuth = true;
$mail->Username = 'apikey';
$mail->Password = getenv('MAILSTEAD_KEY');
$mail->setFrom('${from}');
$mail->addAddress('ann@example.com');
$mail->addCustomHeader('X-Tag', 'welcome');
$mail->Subject = 'Hello';
$mail->msgHTML('<p>It works.</p>');
$mail->send();`
}

function postfix({ host, starttls_port: port }: SmtpServer): string {
  return `# /etc/postfix/main.cf
relayhost = [${host}]:${port}
smtp_sasl_auth_enable = yes
smtp_sasl_security_options = noanonymous
smtp_sasl_password_maps = hash:/etc/postfix/sasl_passwd
smtp_tls_security_level = secure

# /etc/postfix/sasl_passwd, then: postmap /etc/postfix/sasl_passwd && postfix reload
[${host}]:${port} apikey:YOUR_SENDING_KEY`
}

function wordpress({ host, starttls_port: port }: SmtpServer, from: string): string {
  return `<?php
// a file in wp-content/mu-plugins; define MAILSTEAD_KEY in wp-config.php
add_action('phpmailer_init', function ($mail) {
    $mail->isSMTP();
    $mail->Host = '${host}';
    $mail->Port = ${port};
    $mail->SMTPSecure = 'tls';
    $mail->SMTPAuth = true;
    $mail->Username = 'apikey';
    $mail->Password = MAILSTEAD_KEY;
});
add_filter('wp_mail_from', fn () => '${from}');`
}
