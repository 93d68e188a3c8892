<?php
// Sends one mail with Guzzle, then asks what became of it: composer require guzzlehttp/guzzle
declare(strict_types=1);

require __DIR__ . '/vendor/autoload.php';

use GuzzleHttp\Client;
use GuzzleHttp\Exception\ClientException;

$client = new Client([
    'base_uri' => rtrim(getenv('MAILSTEAD_URL'), '/') . '/api/v1/',
    'headers' => ['Authorization' => 'Bearer ' . getenv('MAILSTEAD_KEY')],
    'timeout' => 30,
]);

try {
    $response = $client->post('send-email/instant', [
        // the same key at every try: the mail goes out once, whatever happens on the way
        'headers' => ['Idempotency-Key' => bin2hex(random_bytes(16))],
        'json' => [
            'from' => getenv('MAILSTEAD_FROM'),
            'to' => [getenv('MAILSTEAD_TO')],
            'subject' => 'Your order',
            'html' => '<p>Hello, your order is on its way.</p>',
            'tags' => ['order'],
        ],
    ]);
} catch (ClientException $exception) {
    // {"success": false, "error": "VALIDATION_ERROR", "message": "...", "details": [{"path": "to", "message": "..."}]}
    fwrite(STDERR, (string) $exception->getResponse()->getBody() . PHP_EOL);
    exit(1);
}

$sent = json_decode((string) $response->getBody(), true, 512, JSON_THROW_ON_ERROR);
echo $sent['email_id'], ' ', $sent['status'], PHP_EOL;

$found = $client->get('public/emails/get-email', ['query' => ['id' => $sent['email_id']]]);
echo json_decode((string) $found->getBody(), true, 512, JSON_THROW_ON_ERROR)['data']['status'], PHP_EOL;
