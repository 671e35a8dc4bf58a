#!/usr/bin/perl
# A descent with noise as a program of one's own: the program's side of the protocol in Perl, with its own modules alone. It is written from the text
# (docs/reference/protocol.md and protocol.schema.json), not from the worker or inlier.trial: what a change of it needs, the text says.
use strict;
use warnings;
use IO::Handle;
use IO::Select;
use JSON::PP;

my $json = JSON::PP->new->utf8->canonical;
my $trial = $json->decode(text_of($ENV{INLIER_TRIAL}));
my ($parameters, $output) = @$trial{qw(parameters output_dir)};
my ($saved_step, $replies, $asked_to_stop) = (-1, '', 0);
$SIG{TERM} = sub { $asked_to_stop = 1 };
open(my $events, '>&=', $ENV{INLIER_EVENTS}) or die "descriptor $ENV{INLIER_EVENTS}: $!";
$events->autoflush(1);
STDOUT->autoflush(1);

sub text_of {
    my ($path) = @_;
    open(my $file, '<:raw', $path) or die "$path: $!";
    local $/;
    return scalar <$file>;
}

sub write_durably {
    my ($path, $text) = @_;
    open(my $file, '>:utf8', $path) or die "$path: $!";
    print $file $text;
    ($file->flush && $file->sync && close($file)) or die "$path: $!";
}

sub report {
    my ($key, %fields) = @_;
    print $events $json->encode({$key => \%fields}) . "\n";
}

sub finish {
    my ($kind, $message, %failure) = @_;
    report('outcome', kind => $kind, message => $message, %failure);
    exit 0;
}

sub is_finite { return abs($_[0]) < 9**9**9 }

sub number {
    my ($value) = @_;
    return 0 + $value if is_finite($value);
    return $value != $value ? 'NaN' : $value > 0 ? 'Infinity' : '-Infinity';
}

sub result {
    my ($name, $value) = @_;
    report('measurement', name => $name, value => number($value), final => JSON::PP::true);
}

# All that decides the rest; %.17g keeps every bit of a number.
sub state_text {
    my ($state) = @_;
    return sprintf(qq({"step": %d, "x": "%.17g", "random": %d}\n), @$state{qw(step x random)});
}

sub save {
    my ($state) = @_;
    return if $state->{step} == $saved_step;
    $saved_step = $state->{step};
    mkdir "$output/step-$saved_step" or die "$output/step-$saved_step: $!";
    write_durably("$output/step-$saved_step/state.json", state_text($state));
    report('checkpoint', path => "step-$saved_step", step => $saved_step);
}

# Checkpoints that have been taken over; it waits for none.
sub remove_saved {
    my $input = IO::Select->new(\*STDIN);
    while ($input->can_read(0)) {
        sysread(STDIN, $replies, 4096, length $replies) or last;
    }
    while ($replies =~ s/^(.*)\n//) {
        my $step = $json->decode($1)->{saved}{step};
        unlink "$output/step-$step/state.json";
        rmdir "$output/step-$step" and print "removed step $step\n";
    }
}

sub first_state {
    return {step => 0, x => $parameters->{start}, random => 1 + $trial->{seed} % 2147483646} unless defined $trial->{resume_from};
    my $state = $json->decode(text_of("$trial->{resume_from}/state.json"));
    die "step $state->{step} in place of $trial->{resume_step}" unless $state->{step} == $trial->{resume_step};
    report('log', text => "resumed at step $state->{step} \x{2713}");
    return $state;
}

sub descend {
    my ($state) = @_;
    select(undef, undef, undef, $parameters->{pause});
    $state->{random} = $state->{random} * 48271 % 2147483647;
    my $noise = $parameters->{noisy} ? $state->{random} / 2147483647 - 0.5 : 0;
    $state->{x} -= $parameters->{descent}{rate} * ($state->{x} + $noise);
    my ($step, $loss) = (++$state->{step}, $state->{x} * $state->{x} / 2);
    report('progress', step => $step, steps_total => $parameters->{steps}, loss => number($loss), rate => 1.5, phase => 'descent');
    report('measurement', name => 'loss', value => number($loss), step => $step) if $step % 5 == 0;
    return if is_finite($loss);
    result('end', $loss);
    finish('DIVERGED', "the loss is not finite at step $step");
}

sub train {
    finish('FAILED', 'as the trial asks', failure => $parameters->{failure}) if defined $parameters->{failure};
    my $state = first_state();
    while ($state->{step} < $parameters->{steps}) {
        save($state) if $asked_to_stop || ($state->{step} > 0 && $state->{step} % 10 == 0);
        exit 0 if $asked_to_stop;
        remove_saved();
        descend($state);
    }
    write_durably("$output/model.json", state_text($state));
    report('checkpoint', path => "$output/model.json", step => $state->{step}, final => JSON::PP::true);
    write_durably("$output/end.txt", "$state->{x} $parameters->{descent}{comment}\n");
    report('file', path => 'end.txt');
    result('end', $state->{x});
    finish('SUCCEEDED', "$state->{step} steps");
}

sub evaluate {
    my $model = $json->decode(text_of($trial->{model}));
    result('distance', abs($model->{x}) * $parameters->{scale});
    finish('SUCCEEDED', "the model of step $model->{step}");
}

# Each process adds a line to the file; the first one goes on when all are there.
sub meet {
    open(my $file, '>>', $trial->{meeting}) or die "$trial->{meeting}: $!";
    print $file "$trial->{rank}\n";
    close($file);
    finish('SUCCEEDED', "process $trial->{rank}") if $trial->{rank} > 0;
    select(undef, undef, undef, 0.01) while (text_of($trial->{meeting}) =~ tr/\n//) < $trial->{world_size};
    report('log', text => "$trial->{world_size} processes have met");
}

finish('FAILED', "version $trial->{protocol} of the protocol", failure => 'INVALID_SPEC') if $trial->{protocol} != 1;
meet() if $trial->{world_size} > 1;
$trial->{stage} eq 'evaluate' ? evaluate() : train();
