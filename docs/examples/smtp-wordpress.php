<?php
/**
 * Plugin Name: Mail through Mailstead
 * Description: wp_mail() sends by SMTP. Put this file into wp-content/mu-plugins; the submission port of the server must be on.
 */
declare(strict_types=1);

// in wp-config.php: define('MAILSTEAD_SMTP_HOST', 'mail.example.com'); define('MAILSTEAD_KEY', 'ms_….live_…');
//                   define('MAILSTEAD_FROM', 'shop@example.com');
add_action('phpmailer_init', static function ($mailer): void {
    $mailer->isSMTP();
    $mailer->Host = MAILSTEAD_SMTP_HOST;
    $mailer->Port = 587;
    $mailer->SMTPSecure = 'tls'; // STARTTLS; for port 465 write 'ssl'
    $mailer->SMTPAuth = true;
    $mailer->Username = 'mailstead'; // anything
    $mailer->Password = MAILSTEAD_KEY;
});

add_filter('wp_mail_from', static fn (): string => MAILSTEAD_FROM);
